// Why a machine was started: what the kernel recorded, and what an agent concludes that lived through it.
import assert from 'node:assert/strict';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { BootReason } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { tempFolder } from '@platform/kit/testing';
import { linuxResetCause } from '../src/os/linux/kernel/reset-cause.ts';
import type { ResetCause } from '../src/os/ports.ts';
import { World } from './world.ts';

const since = 1_790_000_000_000;
const panic = 'Panic#1 Part1\n<0>[  12.3] Kernel panic - not syncing: Fatal exception\n';
const oops = 'Oops#1 Part1\n<4>[  12.3] BUG: unable to handle page fault\n';

const rows: readonly [name: string, files: Record<string, string>, ageMs: number, expected: ResetCause | undefined][] =
  [
    ['nothing is recorded', {}, 1, undefined],
    ['messages that the kernel kept', { 'sys/fs/pstore/dmesg-ramoops-0': panic }, 1, 'kernel-panic'],
    ['messages that systemd moved', { 'var/lib/systemd/pstore/1790/dmesg.txt': panic }, 1, 'kernel-panic'],
    ['a panic of an older boot', { 'sys/fs/pstore/dmesg-ramoops-0': panic }, -1, undefined],
    ['an error that the kernel survived', { 'sys/fs/pstore/dmesg-efi-1': oops }, 1, undefined],
    ['the console of the boot before', { 'sys/fs/pstore/console-ramoops-0': panic }, 1, undefined],
    ['a file that is empty', { 'sys/fs/pstore/dmesg-ramoops-0': '' }, 1, undefined],
    ['the watchdog', { 'sys/class/watchdog/watchdog0/bootstatus': '32\n' }, 1, 'watchdog'],
    ['a watchdog that only ran hot', { 'sys/class/watchdog/watchdog0/bootstatus': '1\n' }, 1, undefined],
    ['a watchdog without a status', { 'sys/class/watchdog/watchdog0/bootstatus': 'x\n' }, 1, undefined],
    [
      'a panic that the watchdog ended',
      { 'sys/class/watchdog/watchdog1/bootstatus': '32\n', 'sys/fs/pstore/dmesg-erst-1': panic },
      1,
      'kernel-panic',
    ],
  ];
for (const [name, files, ageMs, expected] of rows) {
  test(`recorded: ${name}`, async () => {
    await using folder = await tempFolder();
    for (const [file, text] of Object.entries(files)) {
      await mkdir(path.dirname(folder.file(file)), { recursive: true });
      await writeFile(folder.file(file), text);
      await utimes(folder.file(file), (since + ageMs * 1_000) / 1_000, (since + ageMs * 1_000) / 1_000);
    }
    assert.equal(await linuxResetCause(since, folder.path), expected);
  });
}

test('an agent reports how the boot before ended, and keeps it over its own restarts', async () => {
  const w = new World();
  const minute = 60_000;
  const reason = () => w.cloud.report.get()?.facts?.bootReason;
  const online = async (first: ReturnType<World['start']>) => {
    await w.clock.advance(5 * minute);
    return first;
  };
  const ends = async (agent: ReturnType<World['start']>) => {
    agent.stop();
    await w.clock.advance(10_000);
    await agent.done;
  };
  await ends(await online(w.start({}, history('one'))));
  assert.equal(reason(), BootReason.UNSPECIFIED, 'the first agent of a machine cannot know');

  await online(w.start({}, history('two')));
  assert.equal(reason(), BootReason.ORDERED);
  w.machine.cutPower();
  w.machine.restore({ of: 'nothing' });
  const third = await online(w.start({}, history('three')));
  assert.equal(reason(), BootReason.POWER_LOST);
  await ends(third);
  w.machine.resetCause = 'watchdog';
  const fourth = await online(w.start({}, history('three')));
  assert.equal(reason(), BootReason.POWER_LOST, 'the same boot');
  await ends(fourth);
  await ends(await online(w.start({}, history('four'))));
  assert.equal(reason(), BootReason.WATCHDOG);
});

const history = (bootId: string) => ({
  runHistory: { bootId, previousRun: async () => ({ reason: undefined, lines: [], words: [] }) },
});
