// The agent's folder was copied, or put back: what it has of signed releases and of versions that failed. The other
// kinds of state: copied-state.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { copyFiles, copyFolder, putFilesBack, type Row } from './copied-files.ts';
import { newRing, program } from './release-repository.ts';
import { Rig } from './rig.ts';
import { day, hour, start, world, type World as TufWorld } from './tuf-world.ts';

const [one, two, three] = [program('1.0.0'), program('1.1.0'), program('1.2.0')] as const;

/** Trusts the first release, copies the folder, and goes on with `work`; `put(name)` puts a copy in place. */
async function trustFolder<T>(
  work: (w: TufWorld, copies: { keep(name: string): Promise<void>; put(name: string): Promise<void> }) => Promise<T>,
): Promise<T> {
  await using w = await world();
  await using copies = await tempFolder();
  assert.equal(await w.outcome(one), 'trusted');
  const keep = (name: string) => copyFolder(w.folder.path, copies.file(name));
  await keep('yesterday');
  return await work(w, { keep, put: (name) => copyFolder(copies.file(name), w.folder.path) });
}

/** New keys for everything, as after a theft; their versions start again. */
function rotateKeys({ repository }: TufWorld): void {
  const ring = newRing();
  repository.rotate(
    (roles) => ({ ...roles, targets: { ...roles.targets, keys: ring.targets.map((key) => key.publicKey) } }),
    {
      ...repository.ring,
      targets: ring.targets,
    },
  );
}

const trustRows: readonly Row[] = [
  [
    'started twice: both machines trust what is signed later, also by new keys',
    () =>
      trustFolder(async (w, { keep, put }) => {
        w.repository.publish(two);
        const first = await w.outcome(two);
        await keep('one');
        await put('yesterday');
        const other = await w.outcome(two);
        rotateKeys(w);
        w.repository.publish(three);
        const later = await w.outcome(three);
        await put('one');
        return [first, other, later, await w.outcome(three), w.conditions.get()];
      }),
    ['trusted', 'trusted', 'trusted', 'trusted', []],
  ],
  [
    'put back: its own old documents raise no alarm, those of a server still do',
    () =>
      trustFolder(async (w, { put }) => {
        const old = w.repository.copy();
        w.time.now += 2 * hour;
        w.repository.now += 2 * hour;
        w.repository.publish(two);
        rotateKeys(w);
        w.repository.publish(three);
        const today = await w.outcome(three);
        await put('yesterday');
        const later = [await w.outcome(three), await w.outcome(two), w.conditions.get()];
        for (const [name, page] of old) w.repository.pages.set(name, page);
        return [today, ...later, await w.outcome(one)];
      }),
    ['trusted', 'trusted', 'trusted', [], 'RELEASE_UNTRUSTED'],
  ],
  [
    'put back by more than a year: everything stored has expired, and what is fresh is trusted',
    () =>
      trustFolder(async (w, { put }) => {
        for (let month = 0; month < 15; month++) {
          w.repository.now += 30 * day;
          if (month % 5 === 0) w.repository.rotate((roles) => roles);
          w.repository.publish(program(`2.${month}.0`));
        }
        w.time.now = w.repository.now + hour;
        const today = await w.outcome(program('2.14.0'));
        await put('yesterday');
        return [today, await w.outcome(program('2.14.0')), w.conditions.get(), w.time.now > start + 400 * day];
      }),
    ['trusted', 'trusted', [], true],
  ],
];

/** A machine with version 1.0.0 of both programs. */
function rigOf(): Rig {
  const rig = new Rig();
  for (const name of ['agent', 'server'] as const) {
    const { id, use } = rig.publish(name, '1.0.0');
    rig.install(name, id);
    use();
  }
  return rig;
}

async function machines<T>(count: number, work: (rigs: Rig[]) => Promise<T>): Promise<T> {
  const rigs = Array.from({ length: count }, rigOf);
  try {
    for (const rig of rigs) {
      rig.power();
      assert.ok(await rig.until(() => rig.isWell(), 5), rig.transcript.join('\n'));
    }
    return await work(rigs);
  } finally {
    for (const rig of rigs) await rig.off();
  }
}

const bad = 'crash';
const triesOf = (rig: Rig): number => rig.starts.filter((version) => version === `1.1.0-${bad}`).length / 3;
const conditionsOf = (rig: Rig): string[] => rig.cloud.report.get()?.conditions.map(({ code }) => code) ?? [];
/** Lets an hour pass. Returns how often the bad version was tried, what is used, and the conditions. */
async function after(rig: Rig): Promise<unknown[]> {
  await rig.until(() => false, 60);
  assert.equal(rig.broken, undefined);
  return [triesOf(rig), rig.cloud.report.get()?.agent?.runningVersion, conditionsOf(rig)];
}
const useBad = (rig: Rig): void => rig.publish('agent', '1.1.0', bad).use();
function putBack(rig: Rig, files: ReturnType<typeof copyFiles>): void {
  rig.cutPower();
  putFilesBack(rig.machine.files, files);
}

const quarantineRows: readonly Row[] = [
  [
    'started twice from a folder without it: each machine tries the version once',
    () =>
      machines(2, async ([rig, twin]) => {
        putBack(twin!, copyFiles(rig!.machine.files));
        for (const each of [rig!, twin!]) useBad(each);
        return [await after(rig!), await after(twin!)];
      }),
    [
      [1, '1.0.0', ['VERSION_QUARANTINED']],
      [1, '1.0.0', ['VERSION_QUARANTINED']],
    ],
  ],
  [
    'started twice from a folder with it: no machine tries the version again',
    () =>
      machines(2, async ([rig, twin]) => {
        useBad(rig!);
        await after(rig!);
        putBack(twin!, copyFiles(rig!.machine.files));
        useBad(twin!);
        return [await after(rig!), await after(twin!)];
      }),
    [
      [1, '1.0.0', ['VERSION_QUARANTINED']],
      [0, '1.0.0', ['VERSION_QUARANTINED']],
    ],
  ],
  [
    'put back to before it: the version is tried once more, and quarantined again',
    () =>
      machines(1, async ([rig]) => {
        const yesterday = copyFiles(rig!.machine.files);
        useBad(rig!);
        const today = await after(rig!);
        putBack(rig!, yesterday);
        return [today, await after(rig!)];
      }),
    [
      [1, '1.0.0', ['VERSION_QUARANTINED']],
      [2, '1.0.0', ['VERSION_QUARANTINED']],
    ],
  ],
  [
    'put back to before the server cleared it: it stays cleared, and the version is tried once more',
    () =>
      machines(1, async ([rig]) => {
        useBad(rig!);
        await after(rig!);
        const yesterday = copyFiles(rig!.machine.files);
        rig!.cloud.clearance.set(1);
        const today = await after(rig!);
        putBack(rig!, yesterday);
        return [today, await after(rig!)];
      }),
    [
      [2, '1.0.0', ['VERSION_QUARANTINED']],
      [3, '1.0.0', ['VERSION_QUARANTINED']],
    ],
  ],
  [
    'put back to before it was cleared on the machine: it is back, is shown, and can be cleared again',
    () =>
      machines(1, async ([rig]) => {
        useBad(rig!);
        await after(rig!);
        const yesterday = copyFiles(rig!.machine.files);
        await rig!.operator?.clearQuarantine('agent');
        await rig!.until(() => rig!.cloud.report.get()?.agent?.quarantined.length === 0, 5, 1_000);
        putBack(rig!, yesterday);
        const back = await after(rig!);
        await rig!.operator?.clearQuarantine('agent');
        return [back.slice(1), (await after(rig!)).slice(1), triesOf(rig!) > 1];
      }),
    [['1.0.0', ['VERSION_QUARANTINED']], ['1.0.0', ['VERSION_QUARANTINED']], true],
  ],
  [
    'the server was put back to a smaller count of clearances: its next one counts',
    () =>
      machines(1, async ([rig]) => {
        rig!.cloud.clearance.set(5);
        await after(rig!);
        useBad(rig!);
        const before = await after(rig!);
        rig!.cloud.clearance.set(2);
        const restored = await after(rig!);
        rig!.cloud.clearance.set(3);
        return [before, restored, await after(rig!)];
      }),
    [
      [1, '1.0.0', ['VERSION_QUARANTINED']],
      [1, '1.0.0', ['VERSION_QUARANTINED']],
      [2, '1.0.0', ['VERSION_QUARANTINED']],
    ],
  ],
];

for (const [what, happens, right] of trustRows)
  test(`the state of signed releases: ${what}`, async () => assert.deepEqual(await happens(), right));
for (const [what, happens, right] of quarantineRows)
  test(`quarantine: ${what}`, async () => assert.deepEqual(await happens(), right));
