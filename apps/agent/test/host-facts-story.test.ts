// The facts of a machine on their way to the management server, without a timer of their own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World } from './world.ts';

const minute = 60_000;

test('facts travel with reports: what changed is known within an hour, and causes no report', async () => {
  const w = new World();
  w.machine.facts = { kernel: '6.1.0', disk: { sizeBytes: 100, freeBytes: 50 } };
  const agent = w.start();
  await w.clock.advance(5 * minute);
  const facts = () => w.cloud.report.get()?.facts;
  assert.equal(facts()?.kernel, '6.1.0');
  assert.equal(facts()?.temperatureCelsius, undefined);
  const before = w.cloud.calls.get('report') ?? 0;
  w.machine.facts = { kernel: '6.1.0', disk: { sizeBytes: 100, freeBytes: 0 } };
  await w.clock.advance(70 * minute);
  assert.equal(facts()?.disk?.freeBytes, 0n);
  assert.ok((w.cloud.calls.get('report') ?? 0) - before <= 2);
  agent.stop();
  await w.clock.advance(5_000);
  await agent.done;
});

test('a renamed machine has its new name in reports and in new log lines within two minutes', async () => {
  const w = new World();
  const agent = w.start();
  await w.clock.advance(5 * minute);
  assert.equal(w.cloud.report.get()?.hostname, 'sim');
  const before = w.cloud.calls.get('report') ?? 0;
  w.machine.hostname = 'new-name';
  await w.clock.advance(2 * minute);
  assert.equal(w.cloud.report.get()?.hostname, 'new-name');
  assert.equal((w.cloud.calls.get('report') ?? 0) - before, 1);
  agent.stop();
  await w.clock.advance(5_000);
  await agent.done;
  const hosts = w.cloud.lines.get().map(({ host }) => host);
  assert.deepEqual([hosts[0], hosts.at(-1)], ['sim', 'new-name']);
});
