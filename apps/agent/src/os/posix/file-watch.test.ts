import assert from 'node:assert/strict';
import { appendFile, rename, truncate, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { FakeClock, tempFolder } from '@platform/kit/testing';
import { watchFile } from './file-watch.ts';

const none = new AbortController().signal;

test('whatever happens to a file is told: appended, cut off, replaced, made', async () => {
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

test('a file at rest wakes nobody but twice a minute, one that is not there every few seconds; the end of waiting does', async () => {
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
