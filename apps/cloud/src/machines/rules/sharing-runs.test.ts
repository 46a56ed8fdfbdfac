// When two runs of an agent are two computers, and when they are one that was restarted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOtherRun, otherRunId } from './other-agent-run.ts';
import {
  type AgentRun,
  newTimes,
  noteSent,
  recentMs,
  type RunTimes,
  runLifeMs,
  sentAt,
  sharingRuns,
  shownRun,
} from './sharing-runs.ts';

/** A check as the network delivers it, in seconds: the run, when it arrives, and the uptime of its agent when it was sent. */
type Delivered = readonly [run: string, arrival: number, uptime: number];

/** The runs that share the part at `at` seconds. */
function sharingAfter(checks: readonly Delivered[], at: number) {
  const runs: (AgentRun & { times: RunTimes })[] = [];
  for (const [id, arrival, uptime] of checks) {
    const now = arrival * 1000;
    let run = runs.find((one) => one.id === id);
    if (!run) {
      const seen = { firstSeen: now, lastSent: now, returnedOn: undefined };
      run = { id, ...seen, hostname: '', address: '', linkAddresses: [], times: newTimes() };
      runs.push(run);
    }
    noteSent(run, runs, now, sentAt(run.times, now, uptime * 1000));
  }
  return sharingRuns(runs, at * 1000);
}

/** @returns their ids; empty: it is not shared. */
const sharedAfter = (checks: readonly Delivered[], at = checks.at(-1)?.[1] ?? 0): string =>
  (sharingAfter(checks, at) ?? []).map(({ id }) => id).join(' ');

/** @returns the id of the run whose status is shown. */
function shownAfter(checks: readonly Delivered[], at: number): string | undefined {
  const shared = sharingAfter(checks, at);
  return shared && shownRun(shared, at * 1000).id;
}

/** An agent that started at `start` and checks in every 55 s from then to `end`. */
const agent = (id: string, start: number, end: number, every = 55): Delivered[] =>
  Array.from({ length: Math.floor((end - start) / every) + 1 }, (_, n) => [id, start + n * every, n * every]);
const byArrival = (...all: readonly Delivered[][]): Delivered[] => all.flat().toSorted((a, b) => a[1] - b[1]);

const never: Readonly<Record<string, readonly Delivered[]>> = {
  'one agent': agent('a', 0, 3_600),
  'agents that follow one another': byArrival(
    ...['a', 'b', 'c', 'd'].map((id, n) => agent(id, n * 300, n * 300 + 290)),
  ),
  'a check of the old run that arrives after the new one began': byArrival(agent('a', 0, 300), agent('b', 303, 900), [
    ['a', 320, 301],
  ]),
  'two late checks of the old run, with the new one in between': byArrival(
    agent('a', 0, 300),
    agent('b', 303, 900, 5),
    [
      ['a', 320, 299],
      ['a', 340, 302],
    ],
  ),
  'an agent that was only seen by one slow check before it was replaced': [
    ['a', 14, 0.1],
    ['b', 15, 0],
    ['a', 29, 1],
    ['b', 70, 55],
    ['b', 125, 110],
  ],
  'a memory that was set back to before a restart': byArrival(
    agent('a', 0, 600),
    agent('b', 610, 700),
    agent('a', 720, 4_000).map(([id, at, uptime]): Delivered => [id, at, uptime + 600]),
  ),
  // As a virtual machine that is restored, and then loses its power.
  'a memory that was set back to before a restart, and a restart after that': byArrival(
    agent('a', 0, 120),
    agent('b', 125, 160),
    agent('a', 180, 300).map(([id, at, uptime]): Delivered => [id, at, uptime + 100]),
    agent('c', 320, 1_400),
  ),
  'a machine that was suspended, and then restarted': byArrival(
    agent('a', 0, 300),
    agent('a', 30_000, 30_500).map(([id, at, uptime]): Delivered => [id, at, uptime + 300]),
    agent('b', 30_600, 32_000),
  ),
  'twins that are never on at the same time': byArrival(
    agent('a', 0, 500),
    agent('b', 510, 1_000),
    agent('c', 1_010, 2_000),
  ),
};
/** A start of another product's agent at that second. */
const other = (start: number): string => otherRunId(1_000_000 + start * 1000, []);

test('agents of two products that go on beside each other are found; ours is the first', () => {
  const both = byArrival(agent(other(0), 0, 900, 5), agent('a', 300, 900));
  assert.equal(sharedAfter(both), `a ${other(0)}`);
  assert.equal(sharedAfter(byArrival(agent('a', 0, 900), agent(other(300), 300, 900, 5))), `a ${other(300)}`);
});

test("a migration, one that failed and was repeated, and a way back are not two agents; one's starts neither", () => {
  const rows: (readonly Delivered[])[] = [
    byArrival(agent(other(0), 0, 300, 5), agent('a', 303, 900)),
    byArrival(
      agent(other(0), 0, 100, 5),
      agent('a', 103, 130, 5),
      agent(other(140), 140, 200, 5),
      agent('b', 205, 900, 5),
    ),
    byArrival(agent('a', 0, 300), agent(other(303), 303, 900, 5)),
    // Two servers that know one run by two starts.
    byArrival(agent(other(0), 0, 900, 10), agent(other(40), 5, 900, 10)),
  ];
  for (const checks of rows)
    for (let end = 1; end <= checks.length; end++) assert.equal(sharedAfter(checks.slice(0, end)), '');
});

test('a check belongs to the run that started at about the same time', () => {
  const id = otherRunId(1_000_000, []);
  assert.equal(otherRunId(1_020_000, ['x', id]), id);
  assert.notEqual(otherRunId(1_040_000, ['x', id]), id);
  assert.deepEqual([isOtherRun(id), isOtherRun(Buffer.alloc(16, 1).toString('base64url'))], [true, false]);
  assert.equal(Buffer.from(id, 'base64url').length, 16);
});

for (const [name, checks] of Object.entries(never))
  test(`not shared: ${name}`, () => {
    for (let end = 1; end <= checks.length; end++) assert.equal(sharedAfter(checks.slice(0, end)), '');
  });

test('two computers that check in by turns are found within 3 minutes, however their checks interleave', () => {
  for (let offset = 0; offset < 55; offset += 5) {
    const checks = byArrival(agent('a', 0, 2_000), agent('b', 500 + offset, 2_000));
    const found = checks.findIndex((_, n) => sharedAfter(checks.slice(0, n + 1)) !== '');
    assert.ok(found > 0 && (checks[found]?.[1] ?? Infinity) - 500 - offset <= 180, `offset ${offset}`);
    assert.equal(sharedAfter(checks), 'a b', 'by their first check');
  }
});

test('a restart of one of them does not hide the other; a third one is listed', () => {
  const restarted = byArrival(agent('a', 0, 1_000), agent('b', 300, 3_000), agent('c', 1_010, 3_000));
  assert.equal(sharedAfter(restarted), 'b c');
  assert.equal(sharedAfter(byArrival(agent('a', 0, 999), agent('b', 100, 999), agent('c', 200, 999))), 'a b c');
});

test('a restart of the first one makes the other one the first within 3 minutes; a run that ended is not listed', () => {
  for (const every of [5, 55, 60])
    for (const pause of [5, 60]) {
      const began = 1_000 + pause;
      const checks = byArrival(
        agent('a', 0, 1_000, every),
        agent('b', 300, 3_000, every),
        agent('c', began, 3_000, every),
      );
      const at = (seconds: number): Delivered[] => checks.filter(([, arrival]) => arrival <= seconds);
      for (let end = 1_180; end <= 3_000; end += 10) {
        assert.equal(shownAfter(at(end), end), 'b', `every ${every} s, ${end} s`);
        assert.equal(sharedAfter(at(end), end), 'b c');
      }
      assert.equal(shownAfter(at(1_000), 1_000), 'a');
    }
});

test('the first one stays the first while it checks in, also if a check is lost; then the status is that of the other', () => {
  const checks = byArrival(agent('a', 0, 1_000, 60), agent('b', 300, 3_000, 60));
  const lost = checks.filter(([id, at]) => id !== 'a' || at !== 960);
  for (let at = 600; at <= 1_019; at++)
    assert.equal(
      shownAfter(
        lost.filter(([, arrival]) => arrival <= at),
        at,
      ),
      'a',
    );
  const end = 960 + recentMs / 1000;
  const until = checks.filter(([, arrival]) => arrival <= end);
  assert.deepEqual([shownAfter(until, end), shownAfter(until, end + 1)], ['a', 'b']);
  assert.equal(sharedAfter(until, end + 1), 'a b', 'a split still makes the one that appeared last another machine');
});

test('one that is restarted after the other has gone is not shared with its own earlier start', () => {
  const checks = byArrival(agent('a', 0, 3_000), agent('b', 300, 1_000), agent('c', 3_003, 4_000));
  const since = checks.filter(([, at]) => at <= 3_000).length;
  assert.equal(sharedAfter(checks.slice(0, since)), '', 'it has ended');
  for (let end = since; end <= checks.length; end++) assert.equal(sharedAfter(checks.slice(0, end)), '');
});

test('an earlier start of the same computer is not listed among those that share an identity', () => {
  const checks = byArrival(agent('first start', 0, 300), agent('second start', 303, 850), agent('other', 400, 850));
  assert.ok(850 - 275 < runLifeMs / 1000, 'the first start still counts as live');
  assert.equal(sharedAfter(checks), 'second start other');
});

test('a suspended computer is found, too, once it is awake', () => {
  const awake = agent('a', 30_000, 32_000).map(([id, at, uptime]): Delivered => [id, at, uptime + 300]);
  assert.equal(sharedAfter(byArrival(agent('a', 0, 300), awake, agent('b', 29_900, 32_000))), 'a b');
});

test('it ends when one of them has not checked in for ten minutes', () => {
  const checks = byArrival(agent('a', 0, 3_000), agent('b', 300, 1_000));
  const last = (checks.findLast(([id]) => id === 'b')?.[1] ?? 0) + runLifeMs / 1000;
  assert.equal(
    sharedAfter(
      checks.filter(([, at]) => at <= last),
      last,
    ),
    'a b',
  );
  assert.equal(sharedAfter(checks, last + 60), '');
});
