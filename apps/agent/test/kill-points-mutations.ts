// Mutation test of the kill points: a disk that skips or changes steps injects mistakes into the update code.
// One of the scenarios below must detect each mistake.
import { parentPort as parent, workerData } from 'node:worker_threads';
import type { FileSystem, WritableFile } from '../src/os/ports.ts';
import { mostCuts, mostStarts } from '../src/state/trial-file.ts';
import { play, pointsOf, programs } from './kill-points.ts';
import { Rig } from './rig.ts';

interface Mutation {
  name: string;
  of: (files: FileSystem) => FileSystem;
}

const not = async (): Promise<void> => {};
const openedBy =
  (files: FileSystem, isMeant: (path: string) => boolean, change: (file: WritableFile) => WritableFile) =>
  async (path: string, how: { mode: number; append?: boolean }): Promise<WritableFile> => {
    const file = await files.openWrite(path, how);
    return isMeant(path) ? change(file) : file;
  };
const unflushed = (files: FileSystem, isMeant: (path: string) => boolean): FileSystem => ({
  ...files,
  openWrite: openedBy(files, isMeant, (file) => ({ ...file, sync: not })),
});
const unlisted = (files: FileSystem, isMeant: (folder: string) => boolean): FileSystem => ({
  ...files,
  syncFolder: (path) => (isMeant(path) ? not() : files.syncFolder(path)),
});
/** Replaces the content that the update writes into a trial file. */
const writing = (files: FileSystem, change: (words: string[]) => string[]): FileSystem => ({
  ...files,
  openWrite: openedBy(
    files,
    (path) => path.endsWith('.trial.tmp'),
    (file) => ({
      ...file,
      write: (bytes) => {
        const words = new TextDecoder().decode(bytes).trim().split(' ');
        return file.write(new TextEncoder().encode(`${change(words).join(' ')}\n`));
      },
    }),
  ),
});
const counting = (files: FileSystem, count: (starts: number) => number): FileSystem =>
  writing(files, (words) => words.with(2, String(count(Number(words[2])))));
const without = (files: FileSystem, step: 'rename' | 'unlink', isMeant: (path: string) => boolean): FileSystem => ({
  ...files,
  rename: (from, to) => (step === 'rename' && isMeant(to) ? not() : files.rename(from, to)),
  unlink: (path) => (step === 'unlink' && isMeant(path) ? not() : files.unlink(path)),
});

export const mutations: readonly Mutation[] = [
  { name: 'the program is not flushed', of: (f) => unflushed(f, (path) => path.endsWith('.part')) },
  { name: 'small files are not flushed', of: (f) => unflushed(f, (path) => path.endsWith('.tmp')) },
  { name: 'the folder of a version is not flushed', of: (f) => unlisted(f, (path) => /^versions\/./.test(path)) },
  { name: 'the folder of all versions is not flushed', of: (f) => unlisted(f, (path) => path === 'versions') },
  { name: 'the switch is not flushed', of: (f) => unlisted(f, (path) => path === 'bin') },
  { name: 'trial and count are not flushed', of: (f) => unlisted(f, (path) => path === 'state') },
  {
    name: 'the trial is written after the switch',
    of: (f) => {
      const late: { rename: (() => Promise<void>) | undefined } = { rename: undefined };
      return {
        ...f,
        async rename(from, to) {
          if (to.endsWith('.trial')) {
            late.rename = () => f.rename(from, to);
            return;
          }
          await f.rename(from, to);
          if (!to.startsWith('bin/')) return;
          const rename = late.rename;
          late.rename = undefined;
          await f.syncFolder('bin');
          await rename?.();
          await f.syncFolder('state');
        },
      };
    },
  },
  {
    name: 'small files are written in place',
    of: (f) => ({
      ...f,
      openWrite: (path, how) => f.openWrite(path.replace(/\.tmp$/, ''), how),
      rename: (from, to) => (from === `${to}.tmp` && !to.startsWith('bin/') ? not() : f.rename(from, to)),
    }),
  },
  { name: 'starts are not counted', of: (f) => counting(f, () => 0) },
  { name: 'one start more than allowed', of: (f) => counting(f, (starts) => Math.max(0, starts - 1)) },
  { name: 'one start less than allowed', of: (f) => counting(f, (starts) => (starts > 0 ? starts + 1 : 0)) },
  { name: 'power cuts are taken for failures', of: (f) => writing(f, (words) => words.with(6, '-')) },
  { name: 'power cuts are never counted', of: (f) => writing(f, (words) => words.with(7, '0')) },
  { name: 'failures are taken for power cuts', of: (f) => writing(f, (words) => words.with(6, 'another')) },
  { name: 'what failed is not remembered', of: (f) => without(f, 'rename', (path) => path.endsWith('.bad')) },
  { name: 'a trial never ends', of: (f) => without(f, 'unlink', (path) => path.endsWith('.trial')) },
  { name: 'no trial is kept', of: (f) => without(f, 'rename', (path) => path.endsWith('.trial')) },
  {
    name: 'it is not switched back',
    of: (f) => ({
      ...f,
      async rename(from, to) {
        const target = to.startsWith('bin/') ? await f.readlink(from) : undefined;
        return target?.includes('/1.0.0-') ? f.unlink(from) : f.rename(from, to);
      },
    }),
  },
  {
    name: 'the version before is removed at the switch',
    of: (f) => ({
      ...f,
      async rename(from, to) {
        const before = to.startsWith('bin/') ? await f.readlink(to) : undefined;
        await f.rename(from, to);
        if (before !== undefined && before !== (await f.readlink(to))) await f.unlink(before.replace('../', ''));
      },
    }),
  },
  {
    name: 'the switch is made of two steps, and the link is gone between them',
    of: (f) => ({
      ...f,
      async rename(from, to) {
        if (to.startsWith('bin/')) {
          await f.unlink(to);
          await f.syncFolder('bin');
          // A gate without a link activates the previous version; this mutation removes the trial file, too.
          for (const name of ['agent', 'server']) await f.unlink(`state/platform-${name}.trial`);
        }
        await f.rename(from, to);
      },
    }),
  },
];

type Scenario = (prepare: (rig: Rig) => void) => Promise<unknown>;

function world(): Rig {
  const rig = new Rig();
  for (const each of programs) {
    const { id, use } = rig.publish(each, '1.0.0');
    rig.install(each, id);
    use();
  }
  return rig;
}

/** A version that crashes at each start is rolled back for good after 3 starts, or 6 with power cuts. */
const crashing =
  (program: 'agent' | 'server', isPowerCut: boolean): Scenario =>
  async (prepare) => {
    const rig = world();
    prepare(rig);
    const { id, use } = rig.publish(program, '1.1.0', 'crash');
    use();
    const most = isPowerCut ? mostCuts + 1 : mostStarts;
    let starts = 0;
    rig.setFate(({ do: what, path }) => {
      const isMeant = what === 'exec' && path.endsWith(`platform-${program}`) && rig.inUse(program) === id;
      if (isMeant) starts++;
      return isMeant && isPowerCut ? 'lostBefore' : 'ok';
    });
    rig.power();
    await rig.until(() => starts > most, 60);
    const isSo = rig.isWell() && rig.inUse(program) !== id && rig.broken === undefined && starts === most;
    const { broken } = rig;
    await rig.off();
    if (!isSo)
      throw new Error(
        broken ?? `a version of ${program} that crashes: ${starts} starts, in use at last: ${rig.inUse(program)}`,
      );
  };

/** A good version whose first starts meet the maximum number of tolerated power cuts stays. */
const unlucky: Scenario = async (prepare) => {
  const rig = world();
  prepare(rig);
  const { id, use } = rig.publish('agent', '1.1.0');
  use();
  let cuts = 0;
  rig.setFate(({ do: what, path }) =>
    what === 'exec' && path === 'bin/platform-agent' && rig.inUse('agent') === id && ++cuts <= mostCuts
      ? 'lostBefore'
      : 'ok',
  );
  rig.power();
  await rig.until(() => rig.isWell() && cuts > mostCuts, 60);
  const isSo = rig.isWell() && rig.inUse('agent') === id && rig.broken === undefined;
  await rig.off();
  if (!isSo) throw new Error(`a good version and ${cuts} power cuts: in use at last: ${rig.inUse('agent')}`);
};

/** Returns the first scenario that fails under the mutation. */
async function foundIn(mutation: Mutation): Promise<string | undefined> {
  const prepare = (rig: Rig): void => {
    rig.machine.wrap = mutation.of;
  };
  const textOf = (error: unknown): string =>
    (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? 'it failed';
  try {
    for (const scenario of [crashing('agent', false), crashing('server', false), crashing('agent', true), unlucky]) {
      await scenario(prepare);
    }
    for (const program of programs) {
      for (const point of await pointsOf(program, prepare)) {
        const { on, what, fault } = point;
        if (on === 'disk' && fault.is === 'cut' && / (bin|versions|state\/platform)/.test(what))
          await play(point, prepare);
      }
    }
  } catch (error) {
    return textOf(error);
  }
  return undefined;
}

if (parent) {
  for (const name of workerData as readonly string[]) {
    const mutation = mutations.find((each) => each.name === name)!;
    parent.postMessage.call(parent, { name, found: await foundIn(mutation) });
  }
}
