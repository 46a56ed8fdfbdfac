import assert from 'node:assert/strict';
import test from 'node:test';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { collectWhenIdle, type Memory, ownMemory } from './idle-collection.ts';

const mib = 2 ** 20;

function world() {
  const clock = new FakeClock();
  const process = { held: 100 * mib, needed: 100 * mib, cpuMs: 0, collections: 0, isBroken: false };
  const memory: Memory = {
    held: () => process.held,
    cpuMs: () => process.cpuMs,
    collect: async () => {
      if (process.isBroken) throw new Error('no way');
      process.held = process.needed;
      process.collections++;
    },
  };
  const stop = new AbortController();
  const { log, text } = captureLog(clock);
  const done = collectWhenIdle({ memory, clock, log }, stop.signal);
  return {
    process,
    log: text,
    clock,
    /** Passes seconds with this share of CPU time. */
    async pass(seconds: number, share = 0): Promise<void> {
      for (let n = 0; n < seconds; n++) {
        process.cpuMs += share * 1_000;
        await clock.advance(1_000);
      }
    },
    async end(): Promise<void> {
      stop.abort();
      await done;
      assert.equal(clock.pending, 0);
    },
  };
}

test('memory that many reconnects took is released once the process is idle, not before', async () => {
  const w = world();
  await w.pass(180);
  assert.equal(w.process.collections, 0, 'nothing to give');
  Object.assign(w.process, { held: 300 * mib, needed: 120 * mib });
  await w.pass(60, 0.8);
  assert.equal(w.process.held, 300 * mib, 'it works');
  await w.pass(10, 0.02);
  assert.deepEqual([w.process.held, w.process.collections], [120 * mib, 1]);
  await w.end();
});

test('what is needed is not asked for again and again, and what V8 gave back itself counts', async () => {
  const w = world();
  Object.assign(w.process, { held: 400 * mib, needed: 400 * mib });
  await w.pass(600);
  assert.equal(w.process.collections, 1);
  w.process.held = 200 * mib;
  await w.pass(60);
  w.process.held = 300 * mib;
  await w.pass(130);
  assert.equal(w.process.collections, 2);
  await w.end();
});

test('repeated peaks: at most one collection every two minutes', async () => {
  const w = world();
  for (let second = 0; second < 600; second += 5) {
    w.process.held = 300 * mib;
    await w.pass(5);
  }
  assert.ok(w.process.collections <= 5, `${w.process.collections}`);
  await w.end();
});

test('if the collection fails, that is logged once, and the server continues', async () => {
  const w = world();
  Object.assign(w.process, { held: 300 * mib, isBroken: true });
  await w.pass(600);
  assert.equal(w.log().split('memory cannot be given back').length, 2);
  await w.end();
});

test('this process gives back what nothing refers to', async () => {
  const kept: { lists: number[][] } = {
    lists: Array.from({ length: 200 }, () => Array.from({ length: 50_000 }, Math.random)),
  };
  await ownMemory.collect();
  const before = process.memoryUsage().heapUsed;
  kept.lists = [];
  await ownMemory.collect();
  const freed = before - process.memoryUsage().heapUsed;
  assert.ok(freed > 60 * mib, `${freed}`);
  assert.ok(ownMemory.held() > 0 && ownMemory.cpuMs() > 0);
});
