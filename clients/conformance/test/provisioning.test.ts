import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MethodKind } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { provisioningApi } from '@viamrobotics/sdk';
import { startProvisioning } from '../src/provisioning-process.ts';
import { dialUnauthenticated } from '../src/sdk.ts';

/** The SDK has the messages of this call, but no function for it. */
async function exit(port: number): Promise<void> {
  const service = {
    typeName: 'viam.provisioning.v1.ProvisioningService',
    methods: {
      exitProvisioning: {
        name: 'ExitProvisioning',
        I: provisioningApi.ExitProvisioningRequest,
        O: provisioningApi.ExitProvisioningResponse,
        kind: MethodKind.Unary,
      },
    },
  } as const;
  const baseUrl = `http://127.0.0.1:${port}`;
  const sessionManager = new Http2SessionManager(baseUrl);
  await createClient(service, createGrpcTransport({ httpVersion: '2', baseUrl, sessionManager })).exitProvisioning({});
  sessionManager.abort();
}

test('the public TypeScript SDK provisions a device over gRPC', async () => {
  await using device = await startProvisioning();
  const { client, close } = await dialUnauthenticated(`http://127.0.0.1:${device.port}`);
  const { provisioningClient } = client;
  const status = await provisioningClient.getSmartMachineStatus();
  const { model, manufacturer, fragmentId } = status.provisioningInfo ?? {};
  assert.deepEqual(
    [model, manufacturer, fragmentId],
    ['Rover 2', 'Example Robotics', '2a7d8f0e-1b4c-4f6a-9c3d-5e6f7a8b9c0d'],
  );
  assert.deepEqual(status.errors, ['The password of barn is wrong.']);
  assert.deepEqual((await provisioningClient.getSmartMachineStatus()).errors, []);
  const networks = await provisioningClient.getNetworkList();
  assert.deepEqual(
    networks.map(({ type, ssid, security, signal }) => [type, ssid, security, signal]),
    [
      ['wifi', 'barn', 'WPA2', 80],
      ['wifi', 'Café ☕', '-', 55],
      ['wifi', 'office', 'WPA2 802.1X', 10],
    ],
  );
  await assert.rejects(provisioningClient.setNetworkCredentials('wired', 'barn', 'x'), { code: 2 });
  await assert.rejects(provisioningClient.setSmartMachineCredentials(), { code: 2 });
  const { CloudConfig, APIKey } = provisioningApi;
  const cloud = new CloudConfig({
    id: 'part',
    appAddress: 'https://cloud.example:443',
    apiKey: new APIKey({ id: 'key', key: 'hush' }),
  });
  await provisioningClient.setSmartMachineCredentials(cloud);
  await provisioningClient.setNetworkCredentials('wifi', 'barn', 'correct horse');
  await exit(device.port);
  await exit(device.port);
  close();
  const credentials =
    '{"cloud":{"app_address":"https://cloud.example:443","id":"part","api_key":{"id":"key","key":"hush"}}}';
  assert.deepEqual(await device.end(), [
    { wifi: { ssid: 'barn', psk: 'correct horse', isHidden: false }, credentials },
  ]);
});
