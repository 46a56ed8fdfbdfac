// What keeps the machine server from its first start, and what the observed state says meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell, createLog } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import { nothingYet, type Actual, type Wanted } from '../state/state.ts';
import { holdFirstStart } from './first-start.ts';

function held(isUpdateCheckFirst: boolean) {
  const clock = new FakeClock();
  const wanted = new Cell({ settings: { isUpdateCheckFirst }, isFresh: false } as unknown as Wanted);
  const actual = new Cell<Actual>(nothingYet);
  const mayStart = new Cell(false);
  const log = createLog({ name: 'test', clock, level: 'error', sink: () => {} });
  const end = new AbortController();
  const done = holdFirstStart({ wanted, actual, mayStart, clock, log }, end.signal);
  return { clock, wanted, actual, mayStart, done };
}

test('without the field nothing is held and nothing is reported', async () => {
  const { actual, mayStart, done } = held(false);
  await done;
  assert.equal(mayStart.get(), true);
  assert.equal('startWait' in actual.get(), false);
});

test('without a management server: the field is named, and until when; then the server starts', async () => {
  const { clock, actual, mayStart, done } = held(true);
  const began = clock.wall();
  await clock.advance(41_000);
  assert.equal(mayStart.get(), false);
  const { startWait } = actual.get();
  assert.match(startWait?.reason ?? '', /agent\.advanced_settings\.wait_for_update_check is true$/);
  assert.equal(startWait?.untilWall, began + 60_000);
  await clock.advance(20_000);
  await done;
  assert.equal(mayStart.get(), true);
  assert.equal('startWait' in actual.get(), false, 'nothing waits any more');
});

test('with a management server: until the check has ended, without a time', async () => {
  const { clock, wanted, actual, mayStart, done } = held(true);
  await clock.advance(5_000);
  wanted.update((w) => ({ ...w, isFresh: true }));
  await clock.advance(90_000);
  assert.equal(mayStart.get(), false);
  assert.match(actual.get().startWait?.reason ?? '', /until the first update check has ended/);
  assert.equal(actual.get().startWait?.untilWall, undefined);
  actual.update((a) => ({ ...a, install: { ...a.install, isChecked: true } }));
  await done;
  assert.equal('startWait' in actual.get(), false);
});
