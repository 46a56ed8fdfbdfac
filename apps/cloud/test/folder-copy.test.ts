// Data folders that lost power start; copies start if they are cold, and are refused if the original was in use.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { checkLocation } from '../src/postgres/home.ts';
import { processState, readPostmaster } from '../src/postgres/postmaster.ts';
import { cloudProcess, type ReadyLine } from './process.ts';
import { transportTo } from './server.ts';

const copy = (from: string, to: string): void => {
  assert.equal(spawnSync('cp', ['-a', from, to]).status, 0);
};

async function start(
  folder: string,
  ...argv: string[]
): Promise<ReturnType<typeof cloudProcess> & { line: ReadyLine }> {
  const cloud = cloudProcess(folder, argv);
  const line = await cloud.ready;
  assert.ok(line, cloud.stderr());
  return { ...cloud, line };
}

async function refusalOf(folder: string, ...argv: string[]): Promise<string> {
  const cloud = cloudProcess(folder, argv);
  assert.equal(await cloud.exit, 1);
  return cloud.stderr();
}

/** Ends server and database as a power cut does. */
async function cutPower(cloud: ReturnType<typeof cloudProcess>, folder: string): Promise<void> {
  const { pid = assert.fail('no database runs') } = (await readPostmaster(path.join(folder, 'postgres', '18'))) ?? {};
  process.kill(cloud.pid, 'SIGKILL');
  process.kill(pid, 'SIGQUIT');
  await cloud.exit;
  // The database removes files until its end, and cp fails on a file that goes while it copies.
  while ((await processState(pid)) !== 'gone') await systemClock.sleep(10);
}

async function stop(cloud: ReturnType<typeof cloudProcess>): Promise<void> {
  process.kill(cloud.pid, 'SIGTERM');
  await cloud.exit;
}

async function machinesOf({ url, api_key_id: entity, api_key: payload, org_id }: ReadyLine): Promise<string[]> {
  const credentials = { type: 'api-key', payload };
  const { accessToken } = await createClient(AuthService, transportTo(url)).authenticate({ entity, credentials });
  const { machines } = await createClient(FleetService, transportTo(url, accessToken)).listMachines({
    organizationId: org_id,
  });
  return machines.map(({ name }) => name);
}

async function addMachine({ url, api_key_id: entity, api_key: payload, org_id }: ReadyLine, name: string) {
  const credentials = { type: 'api-key', payload };
  const { accessToken } = await createClient(AuthService, transportTo(url)).authenticate({ entity, credentials });
  await createClient(FleetService, transportTo(url, accessToken)).createMachine({ organizationId: org_id, name });
}

test('a folder that lost power starts; a cold copy starts; a copy of a folder in use is refused', async () => {
  await using folder = await tempFolder();
  const [original, hot, cold] = [folder.file('original'), folder.file('hot'), folder.file('cold')];
  const first = await start(original);
  await addMachine(first.line, 'm');
  copy(original, hot);
  assert.match(await refusalOf(hot), /^COPIED_WHILE_RUNNING: .*--accept-copy/);
  assert.deepEqual(await machinesOf(first.line), ['m']);

  await cutPower(first, original);
  // After a power cut the host has booted again, and may number its disks otherwise.
  const mark = path.join(original, 'running.json');
  const recorded = JSON.parse(readFileSync(mark, 'utf8')) as object;
  writeFileSync(mark, JSON.stringify({ ...recorded, bootId: 'before', device: '1' }));
  const moved = folder.file('moved');
  renameSync(original, moved);
  const second = await start(moved);
  assert.deepEqual(await machinesOf(second.line), ['m']);
  await stop(second);
  assert.equal(existsSync(path.join(moved, 'running.json')), false);

  copy(moved, cold);
  const third = await start(cold);
  assert.deepEqual(await machinesOf(third.line), ['m']);
  await cutPower(third, cold);

  const rescued = folder.file('rescued');
  copy(cold, rescued);
  assert.match(await refusalOf(rescued), /^COPIED_WHILE_RUNNING/);
  const accepted = await start(rescued, '--accept-copy');
  assert.deepEqual(await machinesOf(accepted.line), ['m']);
  await stop(accepted);
  assert.equal(existsSync(path.join(rescued, 'running.json')), false, 'the next start is that of any folder');
});

test('a data folder whose database lies elsewhere does not start as a copy, and does as a moved one', async () => {
  await using folder = await tempFolder();
  const [home, one, two] = [folder.file('home'), folder.file('one'), folder.file('two')];
  for (const name of [home, one]) assert.equal(spawnSync('mkdir', [name]).status, 0);
  writeFileSync(path.join(home, 'data-folder'), `${one}\n`);
  writeFileSync(path.join(one, 'location'), `${home}\n`);
  await checkLocation(one);
  copy(one, two);
  await assert.rejects(checkLocation(two), /DATABASE_ELSEWHERE.*belongs to/);
  rmSync(one, { recursive: true });
  await checkLocation(two);
  await checkLocation(two);
  assert.equal(readFileSync(path.join(home, 'data-folder'), 'utf8'), `${two}\n`);
  rmSync(home, { recursive: true });
  await assert.rejects(checkLocation(two), /DATABASE_ELSEWHERE/);
  assert.deepEqual(readdirSync(two), ['location']);
});
