// The provisioning RPC as the agent runs it: in the compiled program, without root, on a socket that it inherits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { ProvisioningService } from '@platform/contract/gen/platform/provisioning/v1/provisioning_pb';
import { systemClock } from '@platform/kit/node';
import { built } from './built.ts';
import { sampleView, startEndpoints } from './endpoints-rig.ts';
import { flood, floods } from './http2-floods.ts';

test('an app provisions the device, before and after floods of frames', async () => {
  await using endpoints = await startEndpoints([built('platform-agent').file, 'endpoints']);
  const baseUrl = `http://127.0.0.1:${endpoints.ports.rpc}`;
  const cloud = { id: 'part', secret: 'hush', appAddress: 'https://cloud.example:443' };
  const leave = async (): Promise<void> => {
    const sessionManager = new Http2SessionManager(baseUrl);
    await createClient(ProvisioningService, createGrpcTransport({ baseUrl, sessionManager })).exitProvisioning({});
    sessionManager.abort();
  };
  await leave();
  for (const end = systemClock.now() + 10_000; endpoints.exits === 0 && systemClock.now() < end;)
    await systemClock.sleep(20);
  assert.equal(endpoints.exits, 1, 'nothing was entered: the user ends provisioning');
  const provision = async (): Promise<void> => {
    const sessionManager = new Http2SessionManager(baseUrl);
    const client = createClient(ProvisioningService, createGrpcTransport({ baseUrl, sessionManager }));
    const status = await client.getSmartMachineStatus({});
    assert.deepEqual([status.provisioningInfo?.model, status.hasSmartMachineCredentials], ['Rover 2', true]);
    const { networks } = await client.getNetworkList({});
    assert.deepEqual(
      networks.map(({ ssid }) => ssid),
      sampleView.networks.map(({ ssid }) => ssid),
    );
    await client.setNetworkCredentials({ type: 'wifi', ssid: 'Farm House', psk: 'correct horse' });
    await client.setSmartMachineCredentials({ cloud });
    await client.exitProvisioning({});
    sessionManager.abort();
  };
  await provision();
  const wifi = { ssid: 'Farm House', psk: 'correct horse', isHidden: false };
  const credentials = '{"cloud":{"app_address":"https://cloud.example:443","id":"part","secret":"hush"}}';
  assert.deepEqual(endpoints.submissions, [{ wifi, credentials }]);
  assert.ok(endpoints.activity >= 1);
  for (const make of Object.values(floods)) await flood(endpoints.ports.rpc, make, 5_000);
  assert.deepEqual(endpoints.log.lines, [], 'the process was never started again');
  await provision();
  assert.equal(endpoints.submissions.length, 2);
  endpoints.answer.set({ ok: false, code: 'BUSY', text: 'The device is busy.' });
  await assert.rejects(provision(), { code: 9, rawMessage: 'BUSY: The device is busy.' });
});
