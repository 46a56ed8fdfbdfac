// Replays the first minute of an unmodified agent of the public protocol against our server: gRPC without TLS under the
// public names. transcripts/public-agent.jsonl holds a line per call; texts were replaced.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import path from 'node:path';
import test from 'node:test';
import {
  create,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import {
  AgentDeviceService,
  DeviceAgentConfigRequestSchema,
  DeviceAgentConfigResponseSchema,
  PackageFormat,
  type UpdateInfo,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AppService, LogOrder } from '@platform/contract/gen/platform/app/v1/app_pb';
import {
  LogRequestSchema,
  LogResponseSchema,
  NeedsRestartRequestSchema,
  NeedsRestartResponseSchema,
} from '@platform/contract/gen/platform/app/v1/robot_pb';
import { FleetService, Severity, SliceState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthenticateRequestSchema, AuthenticateResponseSchema } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { failure } from './failure.ts';
import { type Credentials, type TestServer, testServer } from './server.ts';

type Line = { t_s: number; call: string; request: JsonObject; request_bytes?: number };
const lines = readFileSync(path.join(import.meta.dirname, 'transcripts', 'public-agent.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Line);

/** gRPC on the wire: one HTTP/2 connection, frames with a five-byte head, the status in the trailers. */
function dial(url: string) {
  const session = http2.connect(url);
  return {
    ping: () => new Promise<void>((resolve, reject) => session.ping((error) => (error ? reject(error) : resolve()))),
    close: () => session.close(),
    async call<O extends DescMessage>(method: string, body: Uint8Array, output: O, token?: string, host?: string) {
      const stream = session.request({
        ...(host !== undefined && { ':authority': host }),
        ':method': 'POST',
        ':path': method,
        'content-type': 'application/grpc',
        te: 'trailers',
        'user-agent': 'grpc-go/1.79.3',
        'grpc-timeout': '4S',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      });
      const head = Buffer.alloc(5);
      head.writeUInt32BE(body.length, 1);
      stream.end(Buffer.concat([head, body]));
      const seen: http2.IncomingHttpHeaders = {};
      stream.on('response', (headers) => Object.assign(seen, headers));
      stream.on('trailers', (headers: http2.IncomingHttpHeaders) => Object.assign(seen, headers));
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      assert.deepEqual(
        [seen[':status'], seen['grpc-status']],
        [200, '0'],
        `${method}: ${String(seen['grpc-message'])}`,
      );
      const bytes = Buffer.concat(chunks);
      assert.equal(bytes.readUInt32BE(1), bytes.length - 5);
      return fromBinary(output, bytes.subarray(5));
    },
  };
}

/** Two keys of the public protocol have other names in ours; the field numbers, and so the bytes, are the same. */
function renamed(request: JsonObject): JsonObject {
  const text = JSON.stringify(request)
    .replaceAll('"viamServerRunning"', '"serverRunning"')
    .replaceAll('"viamServerInstalled"', '"serverInstalled"')
    .replaceAll('"viamServerUptime"', '"serverUptime"');
  return JSON.parse(text) as JsonObject;
}

/** @param isSigned - our programs are published as if a release key had signed them. */
async function publish(on: TestServer, name: string, version: string, isSigned = true): Promise<Buffer> {
  const bytes = Buffer.from(`${name} ${version}, as a file`);
  const sha256 = createHash('sha256').update(bytes).digest();
  const put = await fetch(`${on.url}/blobs/${sha256.toString('hex')}`, {
    method: 'PUT',
    body: bytes,
    headers: { authorization: `Bearer ${await on.token(on.owner)}` },
  });
  assert.equal(put.status, 201);
  await (
    await on.client(ReleaseService)
  ).publishRelease({
    name,
    version,
    platform: 'linux/amd64',
    sha256,
    sizeBytes: BigInt(bytes.length),
    channels: ['stable'],
  });
  if (isSigned && name.startsWith('platform-'))
    await on.db.updateTable('release').set({ target: name }).where('name', '=', name).execute();
  return bytes;
}

/** Replays every call of the transcript in order, as the machine of `part`. */
async function replay(on: TestServer, part: Credentials) {
  const wire = dial(on.url);
  const seen = {
    token: '',
    configs: [] as MessageShape<typeof DeviceAgentConfigResponseSchema>[],
    restarts: [] as boolean[],
  };
  for (const { call, request, request_bytes: size } of lines) {
    const ask = <S extends DescMessage>(schema: S): Uint8Array => {
      const known = toBinary(schema, fromJson(schema, renamed(request)));
      // The bytes match what the agent sent, except for the id and the texts of log lines.
      if (size !== undefined) assert.equal(known.length, size, call);
      const own = fromJson(schema, { ...renamed(request), id: part.entity });
      return toBinary(schema, own);
    };
    switch (call.slice(call.lastIndexOf('/') + 1)) {
      case 'Authenticate': {
        const asked = fromJson(AuthenticateRequestSchema, {
          entity: part.entity,
          credentials: { type: String(request['type']), payload: part.payload },
        });
        const body = toBinary(AuthenticateRequestSchema, asked);
        seen.token = (await wire.call(call, body, AuthenticateResponseSchema)).accessToken;
        break;
      }
      case 'DeviceAgentConfig':
        seen.configs.push(
          await wire.call(call, ask(DeviceAgentConfigRequestSchema), DeviceAgentConfigResponseSchema, seen.token),
        );
        break;
      case 'NeedsRestart': {
        const answer = await wire.call(call, ask(NeedsRestartRequestSchema), NeedsRestartResponseSchema, seen.token);
        assert.equal(answer.id, part.entity);
        seen.restarts.push(answer.mustRestart);
        break;
      }
      case 'Log':
        await wire.call(call, ask(LogRequestSchema), LogResponseSchema, seen.token);
        break;
      default:
        assert.fail(`an unknown call: ${call}`);
    }
    // The agent's keep-alive between the calls.
    await wire.ping();
  }
  wire.close();
  return seen;
}

test('an unmodified public agent gets its configuration and its update targets, and its logs arrive', async () => {
  await using on = await testServer();
  const files = {
    agent: await publish(on, 'viam-agent', '0.28.1'),
    server: await publish(on, 'viam-server', '0.131.0'),
  };
  await publish(on, 'platform-agent', '9.0.0');
  await publish(on, 'platform-server', '9.0.0');
  const { machineId, partId, part } = await on.machine('m');
  const fleet = await on.client(FleetService);
  await fleet.saveConfig({
    partId,
    configJson: JSON.stringify({
      agent: {
        advanced_settings: { disable_platform_server: false, platform_server_start_timeout_minutes: 7 },
        network_configuration: { manufacturer: 'acme' },
        additional_networks: [{ type: 'wifi', ssid: 'barn', psk: 'password of it', ipv4_address: 'auto' }],
        system_configuration: { logging_journald_system_max_use_megabytes: 512 },
      },
    }),
  });
  const { configs, restarts } = await replay(on, part);
  assert.equal(configs.length, 5);
  assert.deepEqual(new Set(restarts), new Set([false]));

  const [config] = configs;
  assert.ok(config);
  assert.ok(durationMs(config.checkInterval ?? assert.fail('no interval')) >= 5_000);
  assert.deepEqual(config.advancedSettings, {
    disable_platform_server: false,
    disable_viam_server: false,
    platform_server_start_timeout_minutes: 7,
    viam_server_start_timeout_minutes: 7,
  });
  assert.deepEqual(config.networkConfiguration, { manufacturer: 'acme' });
  // Users edit a list, this agent reads an object; it could not parse "auto" as an address.
  assert.deepEqual(config.additionalNetworks, { barn: { type: 'wifi', ssid: 'barn', psk: 'password of it' } });
  assert.deepEqual(config.systemConfiguration, { logging_journald_system_max_use_megabytes: 512 });
  for (const again of configs) assert.deepEqual([again.notModified, again.fingerprint], [false, config.fingerprint]);

  const targets: [UpdateInfo | undefined, filename: string, version: string, file: Buffer][] = [
    [config.agentUpdateInfo, 'viam-agent', '0.28.1', files.agent],
    [config.serverUpdateInfo, 'viam-server', '0.131.0', files.server],
  ];
  for (const [info, filename, version, file] of targets) {
    assert.ok(info);
    assert.deepEqual([info.filename, info.version, info.format], [filename, version, PackageFormat.EXECUTABLE]);
    // Downloads as the agent does: HEAD for the ETag, GET with a range, no credentials; then the hash must match.
    const head = await fetch(info.url, { method: 'HEAD' });
    const etag = head.headers.get('etag') ?? '';
    assert.match(etag, /^"[0-9a-f]{64}"$/);
    const rest = await fetch(info.url, { headers: { range: 'bytes=7-' } });
    assert.equal(rest.status, 206);
    const got = Buffer.concat([file.subarray(0, 7), Buffer.from(await rest.arrayBuffer())]);
    assert.deepEqual(createHash('sha256').update(got).digest(), Buffer.from(info.sha256));
  }

  const app = await on.client(AppService);
  const { logs } = await app.getRobotPartLogs({ id: partId, limit: 100n, order: LogOrder.ASCENDING });
  const sent = lines.flatMap(({ request }) => (request['logs'] ?? []) as JsonObject[]);
  assert.equal(logs.length, 14);
  assert.deepEqual(
    logs.map(({ level, loggerName, host, fields }) => [level, loggerName, host, fields]),
    sent.map((line) => [line['level'], line['loggerName'], line['host'], line['fields'] ?? []]),
  );
  assert.deepEqual(
    logs.map(({ time }) => `${time?.seconds} ${time?.nanos}`),
    // Kept to the microsecond.
    sent.map(({ time }) => {
      const [second, nanos = ''] = String(time).slice(0, -1).split('.');
      return `${Date.parse(`${second}Z`) / 1000} ${Number(nanos.slice(0, 6)) * 1000}`;
    }),
  );

  const { machine } = await fleet.getMachine({ id: machineId });
  assert.ok(machine?.lastSeen);
  assert.equal(machine.hasOtherAgent, true);
  const { versionInfo } = fromJson(
    DeviceAgentConfigRequestSchema,
    renamed(lines.findLast(({ call }) => call.endsWith('/DeviceAgentConfig'))?.request ?? {}),
  );
  const { agent, server, slices, appliedRevision } = machine.report ?? {};
  assert.deepEqual(
    [agent?.runningVersion, agent?.installedVersion, server?.runningVersion, server?.installedVersion],
    [versionInfo?.agentRunning, versionInfo?.agentInstalled, versionInfo?.serverRunning, versionInfo?.serverInstalled],
  );
  assert.equal(appliedRevision, 0n, 'it reports nothing that is in effect');
  assert.deepEqual(
    slices?.map(({ state, appliedRevision: received }) => [state, received]),
    Array.from({ length: 5 }, () => [SliceState.NOT_REPORTED, 1n]),
  );
});

test('an agent of another product gets our program only after a migration is requested, and then once', async () => {
  await using on = await testServer();
  await publish(on, 'platform-server', '1.0.0');
  const { machineId, partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const fleet = await on.client(FleetService);
  const check = async (installed: string, running = '0.28.1', tags: string[] = []) =>
    agent.deviceAgentConfig({
      id: partId,
      hostInfo: { platform: 'linux/amd64', tags },
      versionInfo: { agentRunning: running, agentInstalled: installed },
    });
  const machine = async () => (await fleet.getMachine({ id: machineId })).machine;
  const migrate = () => failure(fleet.migrateMachine({ id: machineId }));

  assert.equal(await migrate(), 'FailedPrecondition MIGRATION_REFUSED', 'nothing has checked in');
  await check('0.28.1');
  assert.equal(await migrate(), 'FailedPrecondition MIGRATION_REFUSED', 'no platform-agent is published');
  await publish(on, 'platform-agent', '0.9.0', false);
  assert.equal(await migrate(), 'FailedPrecondition MIGRATION_REFUSED', 'no release key signed it');
  const file = await publish(on, 'platform-agent', '1.0.0');
  await fleet.saveConfig({ partId, configJson: JSON.stringify({ agent: { version_control: { agent: '1.0.0' } } }) });
  for (const _ of [1, 2]) {
    const { agentUpdateInfo, serverUpdateInfo } = await check('0.28.1');
    assert.deepEqual(
      [agentUpdateInfo, serverUpdateInfo],
      [undefined, undefined],
      'also a version of ours by its number',
    );
  }

  assert.deepEqual((await fleet.migrateMachine({ id: machineId })).version, '1.0.0');
  assert.ok((await machine())?.migrationRequestedOn);
  const { agentUpdateInfo: offer, serverUpdateInfo } = await check('0.28.1');
  assert.deepEqual([offer?.filename, offer?.version, serverUpdateInfo], ['viam-agent', '1.0.0', undefined]);
  assert.deepEqual(Buffer.from(offer?.sha256 ?? []), createHash('sha256').update(file).digest());
  const { agentUpdateInfo: again } = await check('1.0.0');
  assert.equal(again, undefined, 'it has it: one that failed to start would be fetched for ever');
  assert.deepEqual(
    (await machine())?.conditions.map(({ code }) => code).filter((code) => code.startsWith('MIGR')),
    ['MIGRATION_WAITING'],
  );

  await check('1.0.0', '1.0.0', ['platform-agent']);
  const moved = await machine();
  assert.deepEqual([moved?.migrationRequestedOn, moved?.hasOtherAgent], [undefined, false]);
  assert.equal(await migrate(), 'FailedPrecondition MIGRATION_REFUSED', 'it runs platform-agent');

  // The other agent is back: the server does not migrate it again, and shows the report of the attempt.
  const report = { conditions: [{ code: 'MIGRATION_FAILED', message: 'the disk is full' }] };
  await agent.deviceAgentConfig({
    id: partId,
    hostInfo: { platform: 'linux/amd64', tags: ['platform-agent'] },
    report,
  });
  assert.equal((await check('0.28.1')).agentUpdateInfo, undefined);
  const back = await machine();
  assert.equal(back?.hasOtherAgent, true);
  assert.deepEqual(
    back.report?.conditions.map(({ message }) => message),
    ['the disk is full'],
  );
  await fleet.migrateMachine({ id: machineId });
  assert.deepEqual((await machine())?.report?.conditions, []);
  const actions = await on.db.selectFrom('audit').select('action').where('subject', '=', partId).execute();
  assert.equal(actions.filter(({ action }) => action === 'request migration').length, 2);
});

test('the question whether a migration is requested has no effect: nothing is stored, the request stays open', async () => {
  await using on = await testServer();
  const { machineId, partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const fleet = await on.client(FleetService);
  await publish(on, 'platform-agent', '1.0.0');
  const facts = { platform: 'linux/amd64', tags: [] };
  await agent.deviceAgentConfig({ id: partId, hostInfo: facts, versionInfo: { agentRunning: '0.28.1' } });
  const ask = async () =>
    (await agent.deviceAgentConfig({ id: partId, asksMigration: true, versionInfo: { agentRunning: '7.7.7' } }))
      .migrationRequested;
  assert.equal(await ask(), false);
  await fleet.migrateMachine({ id: machineId });
  for (const _ of [1, 2]) assert.equal(await ask(), true);
  const { machine } = await fleet.getMachine({ id: machineId });
  assert.equal(machine?.report?.agent?.runningVersion, '0.28.1');
  assert.ok(machine.migrationRequestedOn);
});

test('a migration that could not trust the release keys is refused before it is offered', async () => {
  await using on = await testServer();
  const { machineId, partId, part } = await on.machine('m');
  const fleet = await on.client(FleetService);
  await publish(on, 'platform-agent', '1.0.0');
  const wire = dial(on.url);
  const signIn = create(AuthenticateRequestSchema, {
    entity: part.entity,
    credentials: { type: 'robot-secret', payload: part.payload },
  });
  const { accessToken } = await wire.call(
    '/proto.rpc.v1.AuthService/Authenticate',
    toBinary(AuthenticateRequestSchema, signIn),
    AuthenticateResponseSchema,
  );
  const checkFrom = async (host?: string) => {
    const body = create(DeviceAgentConfigRequestSchema, {
      id: partId,
      hostInfo: { platform: 'linux/amd64' },
      versionInfo: { agentRunning: '0.28.1', agentInstalled: '0.28.1' },
    });
    return wire.call(
      '/viam.app.agent.v1.AgentDeviceService/DeviceAgentConfig',
      toBinary(DeviceAgentConfigRequestSchema, body),
      DeviceAgentConfigResponseSchema,
      accessToken,
      host,
    );
  };
  await checkFrom('fleet.example:8080');
  await assert.rejects(fleet.migrateMachine({ id: machineId }), (error) => {
    assert.match(String(error), /MIGRATION_WITHOUT_TLS: .*http:\/\/fleet\.example:8080, without TLS/);
    return true;
  });
  assert.equal((await checkFrom('fleet.example:8080')).agentUpdateInfo, undefined);
  const { machine } = await fleet.getMachine({ id: machineId });
  assert.equal(machine?.migrationRequestedOn, undefined);

  // On this host, no one is in between.
  await checkFrom();
  assert.equal((await fleet.migrateMachine({ id: machineId })).version, '1.0.0');
  wire.close();
});

test('without a version for it, the agent of another product gets a hint on its page', async () => {
  await using on = await testServer();
  const { machineId, partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const fleet = await on.client(FleetService);
  await agent.deviceAgentConfig({
    id: partId,
    hostInfo: { platform: 'linux/amd64' },
    versionInfo: { agentRunning: '0.28.1' },
  });
  const codes = async () =>
    (await fleet.getMachine({ id: machineId })).machine?.conditions.map(({ code, severity }) => [code, severity]);
  assert.deepEqual(await codes(), [['OTHER_AGENT_NO_RELEASE', Severity.NOTE]]);
  await publish(on, 'viam-server', '0.131.0');
  assert.deepEqual(await codes(), []);
  const { report } = (await fleet.getMachine({ id: machineId })).machine ?? {};
  assert.deepEqual([report?.agent?.wantedVersion, report?.server?.wantedVersion], ['', '0.131.0']);
});

test('an unmodified public agent gets a restart once, and no version that does not exist', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const fleet = await on.client(FleetService);
  await fleet.restartPart({ partId });
  await fleet.saveConfig({
    partId,
    configJson: JSON.stringify({
      agent: {
        version_control: { agent: '9.9.9', 'viam-server': 'https://builds.example/mine#sha256=' + '0a'.repeat(32) },
      },
    }),
  });
  const { configs, restarts } = await replay(on, part);
  assert.deepEqual(restarts, [true, ...restarts.slice(1).map(() => false)]);
  for (const { agentUpdateInfo, serverUpdateInfo: server } of configs) {
    assert.equal(agentUpdateInfo, undefined, 'an empty version or hash would make it download for ever');
    assert.deepEqual(
      [server?.filename, server?.version, server?.url, server?.sha256.length],
      ['viam-server', 'customURL', 'https://builds.example/mine', 0],
    );
  }
});
