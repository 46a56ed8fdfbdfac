import assert from 'node:assert/strict';
import test from 'node:test';
import { create, fromBinary, type MessageInitShape, toBinary, toJson } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import {
  AgentDeviceService,
  DeviceAgentConfigRequestSchema,
  DeviceAgentConfigResponseSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { bearer, testServer, type TestServer } from './server.ts';

type Ask = MessageInitShape<typeof DeviceAgentConfigRequestSchema>;

/** Checks over HTTP, as our agents do. */
async function overHttp(
  on: TestServer,
  token: string,
  ask: Ask,
  name = 'platform',
): Promise<{ status: number; answer: unknown; isFast: boolean }> {
  const response = await fetch(`${on.url}/${name}.app.agent.v1.AgentDeviceService/DeviceAgentConfig`, {
    method: 'POST',
    headers: { 'content-type': 'application/proto', 'connect-protocol-version': '1', authorization: `Bearer ${token}` },
    body: toBinary(DeviceAgentConfigRequestSchema, create(DeviceAgentConfigRequestSchema, ask)),
  });
  const body = new Uint8Array(await response.arrayBuffer());
  return {
    status: response.status,
    answer: response.ok
      ? toJson(DeviceAgentConfigResponseSchema, fromBinary(DeviceAgentConfigResponseSchema, body))
      : JSON.parse(Buffer.from(body).toString()),
    isFast: response.headers.get('cache-status') === 'platform; hit',
  };
}

async function overGrpc(on: TestServer, token: string, ask: Ask): Promise<unknown> {
  const transport = createGrpcTransport({ baseUrl: on.url, interceptors: [bearer(token)] });
  const message = await createClient(AgentDeviceService, transport).deviceAgentConfig(ask);
  return toJson(DeviceAgentConfigResponseSchema, message);
}

test('the fast path answers as the full RPC does, and only what it may', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId, part } = await on.machine('m');
  const other = await on.machine('other');
  const token = await on.token(part);
  const hostInfo = { platform: 'linux/amd64', distro: 'debian:12', tags: ['platform-agent'] };
  await fleet.saveConfig({ partId, configJson: '{"agent":{"advanced_settings":{"debug":true}}}' });

  const first = await overHttp(on, token, { id: partId, hostInfo });
  const { fingerprint } = first.answer as { fingerprint: string };
  assert.equal(first.isFast, false);
  const known = { id: partId, hostInfo, knownFingerprint: fingerprint };
  // The change is notified twice, directly and by the database; the second notification may arrive now.
  while (!(await overHttp(on, token, known)).isFast);

  const rows: [name: string, ask: Ask, isFast: boolean][] = [
    ['nothing has changed', known, true],
    ['the same again', known, true],
    ['held for a moment', { ...known, wait: durationFromMs(20) }, true],
    ['uptimes change', { ...known, agentUptime: durationFromMs(5) }, true],
    ['knows nothing yet', { id: partId, hostInfo }, false],
    ['knows something else', { ...known, knownFingerprint: 'other' }, false],
    ['brings a report', { ...known, report: { appliedRevision: 1n } }, false],
    ['another agent version', { ...known, versionInfo: { agentRunning: '2.0.0' } }, false],
    ['another product', { ...known, hostInfo: { platform: 'linux/amd64', tags: [] } }, false],
  ];
  for (const [name, ask, isFast] of rows) {
    const found = await overHttp(on, token, ask);
    assert.equal(found.isFast, isFast, name);
    assert.deepEqual(found.answer, await overGrpc(on, token, ask), name);
    await overHttp(on, token, known);
  }
  assert.equal((await overHttp(on, token, known, 'viam')).isFast, true);

  const foreign = await overHttp(on, token, { ...known, id: other.partId });
  assert.deepEqual([foreign.status, (foreign.answer as { code: string }).code], [404, 'not_found']);
  assert.equal((await overHttp(on, 'x.y.z', known)).status, 401);
  assert.equal(
    (await overHttp(on, token, { ...known, hostInfo: { ...hostInfo, distro: 'x'.repeat(4000) } })).isFast,
    false,
  );

  const held = overHttp(on, token, { ...known, wait: durationFromMs(20_000) });
  await fleet.saveConfig({ partId, configJson: '{"agent":{"advanced_settings":{"debug":false}}}' });
  const changed = (await held).answer as { revision: string; fingerprint: string };
  assert.equal(changed.revision, '2');
  assert.notEqual(changed.fingerprint, fingerprint);

  await fleet
    .deleteMachine({ id: partId })
    .catch(() =>
      fleet.getMachine({ id: partId }).then(({ machine }) => fleet.deleteMachine({ id: machine?.id ?? '' })),
    );
  assert.equal((await overHttp(on, token, { ...known, knownFingerprint: changed.fingerprint })).status, 401);
});
