// The agent's folder was copied, or put back. Two rows for each kind of state that it has: two machines are started from
// one copied folder, and one machine goes on from the state of yesterday. Versions: copied-versions.test.ts; log lines:
// e2e/test/copied-folder.test.ts; what the management server does: apps/cloud/test/copied-state.test.ts.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { Cell } from '@platform/kit';
import { tempFolder, type TempFolder } from '@platform/kit/testing';
import { wantedBefore } from '../src/config/config-receiver.ts';
import { RollingFile } from '../src/logs/relay/rolling-file.ts';
import { posixLines } from '../src/os/posix/lines.ts';
import type { Position } from '../src/os/ports.ts';
import { linesFile } from '../src/os/relay-places.ts';
import { simDisk } from '../src/os/sim/disk.ts';
import { SimFiles } from '../src/os/sim/files.ts';
import { SampleSpool } from '../src/samples/sample-spool.ts';
import { settingsOf } from '../src/state/settings.ts';
import type { Wanted } from '../src/state/state.ts';
import { rebootForUpgrades } from '../src/system/reboot.ts';
import type { SystemStatus } from '../src/system/system-status.ts';
import { upgradeOnRequest } from '../src/system/upgrade-now.ts';
import { copyFiles, copyFolder, putFilesBack, type Row } from './copied-files.ts';
import { systemMachine } from './system-machine.ts';
import { good, minute, World } from './world.ts';

/** Reads files of the relay from a position to their end. */
async function readOn(
  root: string,
  from: Position | undefined,
): Promise<{ lines: string[]; position: Position | undefined }> {
  const reader = posixLines(root);
  const lines: string[] = [];
  for (let position = from; ;) {
    const more = await reader.read(linesFile, position);
    if (more.lines.length === 0 && more.position.file === position?.file && more.position.offset === position.offset)
      return { lines, position };
    lines.push(...more.lines);
    position = more.position;
  }
}

/** One relay, which writes these lines and ends. */
async function relay(root: string, ...lines: string[]): Promise<void> {
  const file = new RollingFile({
    file: `${root}/${linesFile}`,
    spareFolder: undefined,
    limits: { totalBytes: 2 ** 20, segmentBytes: 2 ** 16, queueBytes: 2 ** 16 },
    newId: randomUUID,
    lost: () => assert.fail('no line is lost'),
  });
  for (const line of lines) file.write(Buffer.from(`${line}\n`), 1);
  await file.close();
}

/** A folder whose first line was read and whose second was not. */
async function relayFolder(folder: TempFolder) {
  const root = folder.file('root');
  await relay(root, 'read before');
  const { position } = await readOn(root, undefined);
  await relay(root, 'not read');
  await copyFolder(root, folder.file('copy'));
  return { root, copy: folder.file('copy'), position };
}

const relayRows: readonly Row[] = [
  [
    'started twice: each machine reads what waited in the copy, and its own lines',
    async () => {
      await using folder = await tempFolder();
      const { root, copy, position } = await relayFolder(folder);
      await relay(root, 'of the one');
      await relay(copy, 'of the other', 'and longer');
      return [(await readOn(root, position)).lines, (await readOn(copy, position)).lines];
    },
    [
      ['not read', 'of the one'],
      ['not read', 'of the other', 'and longer'],
    ],
  ],
  [
    'put back: a position of today skips no line of the relay that goes on from yesterday',
    async () => {
      await using folder = await tempFolder();
      const { root, copy, position } = await relayFolder(folder);
      await relay(root, 'of today', 'and more of today');
      const today = await readOn(root, position);
      await copyFolder(copy, root);
      await relay(root, 'after');
      // Yesterday's position, and that of today, as if only the files of the relay had been put back.
      return [
        today.lines,
        (await readOn(root, position)).lines,
        (await readOn(root, today.position)).lines.includes('after'),
      ];
    },
    [['not read', 'of today', 'and more of today'], ['not read', 'after'], true],
  ],
];

/** All samples that wait, with their identities. */
async function sampleNames(files: SimFiles, run: string, more: number): Promise<string[]> {
  const spool = await SampleSpool.open(simDisk(files, {}), run);
  for (let n = 1; n <= more; n++) await spool.add({ time: n, diskPermille: n });
  await spool.close();
  const names: string[] = [];
  for (let waiting = spool.next(100); waiting; waiting = spool.next(100)) {
    names.push(...waiting.records.map((record) => `${record.run} ${record.sequence}`));
    await spool.sent(waiting);
  }
  return names;
}

/** Files with three samples that wait. */
async function sampleFiles(): Promise<SimFiles> {
  const files = new SimFiles();
  const spool = await SampleSpool.open(simDisk(files, {}), 'yesterday');
  for (const time of [1, 2, 3]) await spool.add({ time, diskPermille: time });
  await spool.close();
  return files;
}

const waited = ['yesterday 1', 'yesterday 2', 'yesterday 3'];
const sampleRows: readonly Row[] = [
  [
    'started twice: what waited keeps its names, new samples of both have names of their own',
    async () => {
      const [one, other] = [await sampleFiles(), new SimFiles()];
      putFilesBack(other, copyFiles(one));
      return [await sampleNames(one, 'one', 2), await sampleNames(other, 'other', 2)];
    },
    [
      [...waited, 'one 1', 'one 2'],
      [...waited, 'other 1', 'other 2'],
    ],
  ],
  [
    'put back: what waited yesterday comes again under the same names, and no name is used for another sample',
    async () => {
      const files = await sampleFiles();
      const yesterday = copyFiles(files);
      const today = await sampleNames(files, 'today', 2);
      putFilesBack(files, yesterday);
      return [today, await sampleNames(files, 'after', 2)];
    },
    [
      [...waited, 'today 1', 'today 2'],
      [...waited, 'after 1', 'after 2'],
    ],
  ],
];

const asked = (systemUpgrades: number, isFresh = true): Wanted => ({
  ...wantedBefore({ commandLine: undefined, manufacturer: undefined, isFastStart: true }),
  revision: 1,
  isFresh,
  systemUpgrades,
});
const countFile = 'state/system-upgrades.json';

/** Whether a machine reboots for upgrades in an open window. */
async function rebootsInWindow(isVolatile: boolean): Promise<boolean> {
  await using at = await systemMachine();
  const { conditions, disk, clock, log, prefix } = at.parts();
  const reboot = { sinceWall: 5, causes: ['libc6'] };
  const about = { hasApt: true, waiting: [], lastRun: undefined, rebootWait: '', task: '', why: '' };
  const status = new Cell<SystemStatus | undefined>({ ...about, reboot });
  const { config, hasSystem } = resolveAgentConfig({
    cloud: { system_configuration: { os_auto_upgrade_type: 'security' } },
    maintenanceWindow: { from: '01:00', to: '02:00' },
  });
  const wanted = new Cell({ ...asked(0), settings: settingsOf(config, { isFastStart: true, hasSystem }) });
  const [stop, done] = [new AbortController(), new Cell(false)];
  const work = rebootForUpgrades(
    {
      status,
      wanted,
      conditions,
      disk,
      clock,
      log,
      prefix,
      decide: () => ({ is: 'allowed', reason: '', untilWall: undefined }),
      fileSystem: async () => ({ mountPoint: '/', isNoExec: false, freeBytes: 1, isVolatile }),
      reboot: async () => done.set(true),
    },
    stop.signal,
  );
  while (!done.get() && conditions.get().length === 0) {
    await at.clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  stop.abort();
  await work;
  if (isVolatile) assert.match(conditions.get()[0]?.message ?? '', /so a reboot would be repeated/);
  return done.get();
}

/** Lets an agent see these configurations in turn. Returns the newest request that it reports as done. */
async function upgrades(at: Awaited<ReturnType<typeof systemMachine>>, ...all: Wanted[]): Promise<number | undefined> {
  const [wanted, done, stop] = [new Cell(all[0]!), new Cell<number | undefined>(undefined), new AbortController()];
  const running = upgradeOnRequest(wanted, at.parts(), stop.signal, done);
  for (const next of all) {
    wanted.set(next);
    // The cached configuration must have no effect, so there is nothing to wait for.
    for (let turns = 0; next.isFresh ? done.get() !== next.systemUpgrades : turns < 100; turns++) {
      await at.clock.advance(5_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  stop.abort();
  await running;
  return done.get();
}

const consentRows: readonly Row[] = [
  [
    'a reboot in a maintenance window, put back by each boot: none, because each boot would need the next',
    async () => [await rebootsInWindow(false), await rebootsInWindow(true)],
    [true, false],
  ],
  [
    'an upgrade, started twice: the second computer, whose server has heard that it is done, does not do it again',
    async () => {
      await using at = await systemMachine();
      await using twin = await systemMachine();
      for (const each of [at, twin]) await upgrades(each, asked(3));
      const done = await upgrades(at, asked(4));
      await upgrades(twin, asked(3, false), asked(0));
      return [done, at.packages.started.length, twin.packages.started.length];
    },
    [4, 1, 0],
  ],
  [
    'an upgrade, put back: neither the cached request nor the withdrawn one is done again, but the next one',
    async () => {
      await using at = await systemMachine();
      const { disk } = at.parts();
      await upgrades(at, asked(0));
      const yesterday = (await disk.read(countFile)) ?? assert.fail();
      const done = await upgrades(at, asked(1));
      const counts = [at.packages.started.length];
      await disk.write(countFile, yesterday);
      await disk.remove(`${countFile}.last-good`);
      // Its cache may have the request, without that it is done.
      await upgrades(at, asked(1, false));
      counts.push(at.packages.started.length);
      await upgrades(at, asked(0));
      counts.push(at.packages.started.length);
      await upgrades(at, asked(2));
      return [done, ...counts, at.packages.started.length];
    },
    [1, 1, 1, 1, 2],
  ],
  [
    'a restart of the machine server, put back: one that was done is not done again',
    async () => {
      const w = new World();
      w.publish('1.0.0', good('1.0.0'));
      const first = w.start();
      await w.clock.advance(5 * minute);
      const yesterday = copyFiles(w.machine.files);
      const restarts = (): number =>
        w
          .takeLog('agent.restart')
          .split('\n')
          .filter((line) => /was requested/.test(line)).length;
      w.cloud.askForRestart();
      await w.clock.advance(5 * minute);
      const today = restarts();
      first.kill();
      w.machine.cutPower();
      putFilesBack(w.machine.files, yesterday);
      w.machine.restore({ of: 'all' });
      const next = w.start();
      await w.clock.advance(60 * minute);
      const [later, running] = [restarts(), w.machine.processes.running.length];
      next.stop();
      await w.clock.advance(10_000);
      await next.done;
      return [today, later, running];
    },
    [1, 0, 1],
  ],
];

for (const [what, happens, right] of relayRows)
  test(`files of the relay: ${what}`, async () => assert.deepEqual(await happens(), right));
for (const [what, happens, right] of sampleRows)
  test(`samples that wait: ${what}`, async () => assert.deepEqual(await happens(), right));
for (const [what, happens, right] of consentRows)
  test(`consent to restarts and upgrades: ${what}`, async () => assert.deepEqual(await happens(), right));
