// A folder of an agent that is copied, or put back: an overlay root, a snapshot, an SD card that was cloned. Every line
// of every start reaches LOGS.
import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { test } from 'node:test';
import { type CaseMachine, caseMachine } from '../src/case-machine.ts';

const started = 'platform agent started';
const ended = 'platform agent ends';
const termMs = 60_000;

/** Each start has a boot ID of its own, and the numbers under it have no hole. */
async function checkIdentities({ cloud, partId }: CaseMachine, starts: number): Promise<void> {
  const rows = await cloud.sql<{ boot_id: string; lines: string; first: string; last: string }>(
    `select boot_id, count(*) as lines, min(sequence) as first, max(sequence) as last from part_log where part_id = $1 group by boot_id`,
    [partId],
  );
  assert.equal(rows.length, starts);
  for (const { lines, first, last } of rows) assert.equal(Number(lines), Number(last) - Number(first) + 1);
}

test('the state of yesterday put back three times: the lines of all four starts are in LOGS', async () => {
  await using machine = await caseMachine();
  const { folder } = machine;
  const [root, golden] = [folder.file('root'), folder.file('golden')];
  const first = await machine.agent(root);
  await machine.until('the first start in LOGS', async () => (await machine.linesOf(started)) === 1);
  await first.stop({ termMs });
  await cp(root, golden, { recursive: true, verbatimSymlinks: true });
  for (const boot of [1, 2, 3]) {
    await rm(root, { recursive: true });
    await cp(golden, root, { recursive: true, verbatimSymlinks: true });
    const agent = await machine.agent(root);
    await machine.until(`start ${boot + 1} in LOGS`, async () => (await machine.linesOf(started)) === boot + 1);
    // Every other one is killed, as by pulling the plug.
    if (boot % 2 === 0) agent.signal('SIGKILL');
    await agent.stop({ termMs });
  }
  assert.equal(await machine.linesOf(started), 4);
  assert.equal(await machine.linesOf(ended), 3);
  await checkIdentities(machine, 4);
});

test('two machines from one card: the lines of both are in LOGS', async () => {
  await using machine = await caseMachine();
  const { folder } = machine;
  const [a, b] = [folder.file('a'), folder.file('b')];
  const first = await machine.agent(a);
  await machine.until('the first start in LOGS', async () => (await machine.linesOf(started)) === 1);
  await first.stop({ termMs });
  await cp(a, b, { recursive: true, verbatimSymlinks: true });
  const twins = [await machine.agent(a), await machine.agent(b)];
  await machine.until('both starts in LOGS', async () => (await machine.linesOf(started)) === 3);
  for (const twin of twins) await twin.stop({ termMs });
  assert.equal(await machine.linesOf(ended), 3);
  await checkIdentities(machine, 3);
});
