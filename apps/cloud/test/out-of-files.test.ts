// A server without a free file descriptor names it, and goes on when there is one again.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { errorCodeOf } from '@platform/contract/errors/errors';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { processState, readPostmaster } from '../src/postgres/postmaster.ts';
import { cloudProcess } from './process.ts';
import { bearer } from './server.ts';

/** A new descriptor takes the lowest free number, so a limit of this number allows none. */
function firstFree(pid: number): number {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let free = 0;
  while (open.has(free)) free++;
  return free;
}

test('without a free file descriptor, an upload is refused as temporary, with the limit', async () => {
  await using folder = await tempFolder();
  const cloud = cloudProcess(folder.path);
  const ready = await cloud.ready;
  assert.ok(ready, cloud.stderr());
  // One connection that stays open: a new one would need a descriptor, too.
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const transport = (token = '') =>
    createConnectTransport({
      baseUrl: ready.url,
      httpVersion: '1.1',
      nodeOptions: { agent },
      interceptors: token === '' ? [] : [bearer(token)],
    });
  const credentials = { type: 'api-key', payload: ready.api_key };
  const { accessToken } = await createClient(AuthService, transport()).authenticate({
    entity: ready.api_key_id,
    credentials,
  });
  const fleet = createClient(FleetService, transport(accessToken));
  const { machine } = await fleet.createMachine({ organizationId: ready.org_id, name: 'm' });
  const sync = createClient(DataSyncService, transport(accessToken));
  const upload = (text: string) =>
    sync.dataCaptureUpload({
      metadata: {
        partId: machine?.partId ?? '',
        componentName: 'camera',
        type: DataType.BINARY_SENSOR,
        fileExtension: '.jpg',
      },
      sensorContents: [{ data: { case: 'binary', value: new TextEncoder().encode(text) } }],
    });
  const limit = (files: number): void => {
    const { status, stderr } = spawnSync('prlimit', ['--pid', String(cloud.pid), `--nofile=${files}:`]);
    assert.equal(status, 0, String(stderr));
  };
  await upload('before');
  limit(firstFree(cloud.pid));
  const refusal = await upload('meanwhile').then(
    () => assert.fail(`stored, although no descriptor is free`),
    (error: unknown) => ConnectError.from(error),
  );
  assert.equal(refusal.code, Code.Unavailable);
  assert.equal(errorCodeOf(refusal), 'OUT_OF_FILES');
  assert.match(refusal.rawMessage, /limit of open files and connections of this process.*LimitNOFILE/);
  limit(4096);
  await upload('after');
  agent.destroy();
  process.kill(cloud.pid, 'SIGTERM');
  assert.equal(await cloud.exit, 0);
});

test('a server that is stopped without a free file descriptor leaves no database running', async () => {
  await using folder = await tempFolder();
  const cloud = cloudProcess(folder.path);
  const ready = await cloud.ready;
  assert.ok(ready, cloud.stderr());
  const postmaster = await readPostmaster(path.join(folder.path, 'postgres', '18'));
  assert.ok(postmaster);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const isReady = async (): Promise<boolean> => {
    const request = http.get(`${ready.url}/readyz`, { agent });
    // Without a descriptor the server cannot accept the connection, if it needs a new one.
    const signal = AbortSignal.timeout(3_000);
    const [answer] = (await once(request, 'response', { signal }).catch(() => [])) as [http.IncomingMessage?];
    if (!answer) {
      request.on('error', () => undefined).destroy();
      return false;
    }
    answer.resume();
    await once(answer, 'end');
    return answer.statusCode === 200;
  };
  assert.ok(await isReady());
  // Lower than any descriptor that may come free meanwhile: what is open stays open, nothing more can be opened.
  spawnSync('prlimit', ['--pid', String(cloud.pid), '--nofile=3:']);
  // Until then the supervisor has looked at the database, and must not take its lack of files for a dead database.
  while (await isReady()) await systemClock.sleep(50);
  agent.destroy();
  process.kill(cloud.pid, 'SIGTERM');
  await cloud.exit;
  assert.doesNotMatch(cloud.stderr(), /the database died/);
  while ((await processState(postmaster.pid)) !== 'gone') await systemClock.sleep(50);
});
