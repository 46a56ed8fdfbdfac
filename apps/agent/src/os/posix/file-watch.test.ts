import assert from 'node:assert/strict';
import { appendFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { FakeClock, tempFolder } from '@platform/kit/testing';
import { watchFile } from './file-watch.ts';

const none = new AbortController().signal;

test('each change of a file is reported: appended, truncated, replaced, created', async () => {
  await using folder = await tempFolder();
  const file = folder.file('log');
  await writeFile(file, 'first\n');
  const watch = watchFile(file, systemClock);
  const happenings: readonly (() => Promise<void>)[] = [
    () => appendFile(file, 'second\n'),
    () => truncate(file, 0),
    async () => {
      await writeFile(folder.file('new'), 'third\n');
      await rename(folder.file('new'), file);
    },
    () => appendFile(file, 'fourth\n'),
  ];
  for (const happens of happenings) {
    await happens();
    await watch.changed(none);
  }
  watch.close();

  const late = watchFile(folder.file('late'), systemClock);
  await writeFile(folder.file('late'), 'x\n');
  await late.changed(none);
  late.close();
});

test('a link that is replaced is reported, and what is written to its new file', async () => {
  await using folder = await tempFolder();
  const [file, first, second] = ['log', 'first', 'second'].map((name) => folder.file(name)) as [string, string, string];
  await Promise.all([writeFile(first, 'x\n'), writeFile(second, '')]);
  await symlink(first, file);
  const watch = watchFile(file, systemClock, 3_600_000);
  await rename(file, folder.file('log.1'));
  await symlink(second, file);
  await watch.changed(none);
  await watch.changed(none); // it is open again
  await appendFile(second, 'y\n');
  await watch.changed(none);
  watch.close();
});

test('each file that is created in a watched folder is reported, also one that follows a removal', async () => {
  await using folder = await tempFolder();
  const watch = watchFile(folder.path, systemClock, 3_600_000);
  for (let turn = 0; turn < 3; turn++) {
    await writeFile(folder.file('touched'), '');
    await watch.changed(none);
    await rm(folder.file('touched'));
    await watch.changed(none);
  }
  watch.close();
});

test('an idle file wakes its reader twice a minute, a missing one every few seconds; an abort ends the wait', async () => {
  await using folder = await tempFolder();
  const file = folder.file('log');
  await writeFile(file, 'an unfinished line');
  const clock = new FakeClock();
  const watch = watchFile(file, clock);
  const stop = new AbortController();
  const state = { turns: 0 };
  const turns = (async () => {
    while (!stop.signal.aborted) {
      await watch.changed(stop.signal);
      state.turns++;
    }
  })();
  await clock.advance(60_000);
  assert.equal(state.turns, 2);
  stop.abort();
  await turns;
  const absent = watchFile(folder.file('absent'), clock);
  const appears = { isSeen: false };
  void absent.changed(none).then(() => (appears.isSeen = true));
  await clock.advance(5_000);
  assert.equal(appears.isSeen, true);
  absent.close();
  await watch.changed(stop.signal);
  watch.close();
});
