import assert from 'node:assert/strict';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { FakeClock, tempFolder } from '@platform/kit/testing';
import { watchSandboxes } from './availability.ts';
import { prlimitLimiter } from './resource-group.ts';
import type { Probe } from './probe.ts';

const works: Probe = {
  ok: true,
  sandboxes: { host: { bwrap: '/usr/bin/bwrap', isRoot: true, system: [] }, limiter: prlimitLimiter },
};
const fails: Probe = { ok: false, because: 'bubblewrap (bwrap) is not installed' };
const signal = new AbortController().signal;

test('a bubblewrap that is installed, replaced or removed is noticed; else nothing is tried again', async () => {
  await using folder = await tempFolder();
  const clock = new FakeClock();
  const file = folder.file('bwrap');
  const state: { probe: Probe; count: number } = { probe: fails, count: 0 };
  // The probe also searches this system's folders, whose content does not change.
  const available = watchSandboxes(folder.path, clock, () => {
    state.count++;
    return Promise.resolve(state.probe);
  });
  const probed = async (): Promise<[boolean, number]> => [(await available.probe(signal)).ok, state.count];
  assert.deepEqual(await probed(), [false, 1]);
  assert.deepEqual(await probed(), [false, 1]);

  state.probe = works;
  await writeFile(file, '#!/bin/sh\n');
  await chmod(file, 0o755);
  assert.deepEqual(await probed(), [true, 2], 'installed');
  await clock.advance(10 * 60_000);
  assert.deepEqual(await probed(), [true, 2], 'what works is not tried again');
  await writeFile(file, '#!/bin/sh\nexit 1\n');
  assert.deepEqual(await probed(), [true, 3], 'replaced');

  state.probe = fails;
  await rm(file);
  assert.deepEqual(await probed(), [false, 4], 'removed');
  await clock.advance(59_999);
  assert.deepEqual(await probed(), [false, 4]);
  state.probe = works;
  await clock.advance(1);
  assert.deepEqual(await probed(), [true, 5], 'a minute after a failure');
});
