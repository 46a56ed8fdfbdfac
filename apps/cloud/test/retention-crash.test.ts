// Retention and kill −9: the server is killed repeatedly while it removes unreferenced files.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { systemClock } from '@platform/kit/node';
import { seededRandom, tempFolder } from '@platform/kit/testing';
import { endedWithTests } from './process.ts';
import { transportTo } from './server.ts';

const hour = 3_600_000;
type Ready = { url: string; org_id: string; api_key_id: string; api_key: string };

/** The server on a clock that this test drives. */
async function clockedServer(folder: string, jumpedMs: number) {
  const child = spawn(
    process.execPath,
    [path.join(import.meta.dirname, 'clocked-server.ts'), '--data-dir', folder, '--port', '0'],
    { stdio: ['pipe', 'pipe', 'pipe'], env: { PATH: process.env['PATH'], JUMPED_MS: String(jumpedMs) } },
  );
  endedWithTests(child);
  const errors: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => errors.push(String(chunk)));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  assert.ok(first.value, errors.join(''));
  const ready = JSON.parse(first.value) as Ready;
  const { accessToken } = await createClient(AuthService, transportTo(ready.url)).authenticate({
    entity: ready.api_key_id,
    credentials: { type: 'api-key', payload: ready.api_key },
  });
  return {
    ready,
    owner: transportTo(ready.url, accessToken),
    async advance(ms: number) {
      child.stdin.write(`advance ${ms}\n`);
      await lines.next();
    },
    async kill() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
    log: () => errors.join(''),
  };
}
type ClockedServer = Awaited<ReturnType<typeof clockedServer>>;

async function filesIn(folder: string): Promise<string[]> {
  const found = await readdir(path.join(folder, 'blobs'), { recursive: true });
  return found.map((name) => path.basename(name)).filter((name) => /^[0-9a-f]{64}$/.test(name));
}

test('kill −9 while unnamed files are removed: what was acknowledged is whole, what was deleted goes', async () => {
  await using temporary = await tempFolder();
  const folder = temporary.file('data');
  const random = seededRandom(8);
  const named = new Map<string, Buffer>();
  let jumpedMs = 0;
  let partId = '';
  let cut = 0;
  for (let round = 0; round < 5; round++) {
    const server = await clockedServer(folder, jumpedMs);
    if (round === 0) {
      const fleet = createClient(FleetService, server.owner);
      partId = (await fleet.createMachine({ organizationId: server.ready.org_id, name: 'm' })).machine?.partId ?? '';
    }
    const [data, sync] = [createClient(DataService, server.owner), createClient(DataSyncService, server.owner)];
    for (const [id, bytes] of named) {
      const [datum] = (await data.binaryDataByIDs({ binaryDataIds: [id], includeBinary: true })).data;
      assert.ok(bytes.equals(datum?.binary ?? Buffer.alloc(0)), `round ${round}: ${id} is whole`);
    }
    const uploaded: string[] = [];
    for (let n = 0; n < 30; n++) {
      const value = randomBytes(200);
      const { binaryDataId } = await sync.dataCaptureUpload({
        metadata: { partId, type: DataType.BINARY_SENSOR },
        sensorContents: [{ data: { case: 'binary', value } }],
      });
      named.set(binaryDataId, value);
      uploaded.push(binaryDataId);
    }
    const gone = uploaded.filter((_, n) => n % 3 !== 0);
    await data.deleteBinaryDataByIDs({ binaryDataIds: gone });
    for (const id of gone) named.delete(id);
    // The sweep marks files and removes them a day later; the kill follows when some are removed.
    const before = (await filesIn(folder)).length;
    const enough = 1 + Math.floor(random() * (gone.length / 2));
    jumpedMs += await turnUntil(server, async () => before - (await filesIn(folder)).length >= enough);
    await server.kill();
    const left = (await filesIn(folder)).length;
    if (left > named.size) cut += 1;
  }
  assert.ok(cut > 0, 'a sweep was cut');
  const last = await clockedServer(folder, jumpedMs);
  const hashes = new Set([...named.values()].map((bytes) => createHash('sha256').update(bytes).digest('hex')));
  await turnUntil(last, async () => {
    const files = await filesIn(folder);
    for (const hash of hashes) assert.ok(files.includes(hash), 'what a row names stays');
    return files.length === hashes.size;
  });
  await last.stop();
});

/** Starts sweeps until it is done. @returns how far the clock was advanced. */
async function turnUntil(server: ClockedServer, isDone: () => Promise<boolean>): Promise<number> {
  let turnedMs = 0;
  const end = systemClock.now() + 180_000;
  for (let looks = 0; !(await isDone()); looks++) {
    assert.ok(systemClock.now() < end, server.log());
    // Each turn starts one sweep of all folders; the previous one may still run.
    if (looks % 200 === 0) {
      await server.advance(25 * hour);
      turnedMs += 25 * hour;
    }
    await systemClock.sleep(20);
  }
  return turnedMs;
}
