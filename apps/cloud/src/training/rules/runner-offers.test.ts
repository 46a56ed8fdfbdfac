import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  containersOf,
  noScriptsBecause,
  type Offer,
  queuePlace,
  waitingFor,
  type WaitingJobs,
  type Wants,
} from './runner-offers.ts';

const container = (key: string) => ({ key, uri: '', framework: 'python', description: '', eolMs: null });
const offer = (more: Partial<Offer> = {}): Offer => ({
  kinds: ['object_detection'],
  gpus: 0,
  containers: [],
  noScriptsBecause: '',
  ...more,
});
const scripts = offer({ kinds: ['custom'], containers: [container('py:3.11')] });
const wants = (more: Partial<Wants> = {}): Wants => ({ kind: 'object_detection', gpus: 0, container: '', ...more });

const rows: [name: string, wants: Wants, offers: Offer[], expected: RegExp][] = [
  ['no runner', wants(), [], /^No runner has asked for work within a day\. Start one/],
  ['one that can', wants(), [offer()], /^$/],
  ['another kind', wants({ kind: 'multi_label_classification' }), [offer()], /type multi_label_classification\. Start/],
  [
    'no scripts, and why',
    wants({ kind: 'custom' }),
    [offer({ noScriptsBecause: 'bubblewrap is missing: install it' })],
    /training scripts: bubblewrap is missing: install it$/,
  ],
  ['a script, any container', wants({ kind: 'custom' }), [offer(), scripts], /^$/],
  ['a script, its container', wants({ kind: 'custom', container: 'py:3.11' }), [scripts], /^$/],
  ['another container', wants({ kind: 'custom', container: 'tf:2' }), [scripts], /"tf:2"; there are: py:3\.11\. Start/],
  ['GPUs enough', wants({ gpus: 2 }), [offer(), offer({ gpus: 2 })], /^$/],
  ['too few GPUs', wants({ gpus: 4 }), [offer({ gpus: 2 })], /has 4 GPUs for a job; the most is 2\. Start/],
  [
    'GPUs in one runner, the container in another',
    wants({ kind: 'custom', container: 'py:3.11', gpus: 1 }),
    [scripts, offer({ kinds: ['custom'], gpus: 8, containers: [container('py:3.12')] })],
    /has 1 GPUs for a job; the most is 0/,
  ],
];
for (const [name, wanted, offers, expected] of rows)
  test(`a job waits for: ${name}`, () => assert.match(waitingFor(wanted, offers), expected));

const waits = (count: number, more: Partial<Wants> = {}): WaitingJobs => ({ ...wants(more), count });
const crowd = [waits(5000, { kind: 'custom' }), waits(3, { gpus: 1 }), waits(2)];
const places: [name: string, wants: Wants, waiting: WaitingJobs[], offers: Offer[], place: number][] = [
  ['alone', wants(), [waits(1)], [offer()], 1],
  ['jobs that this runner cannot run do not count', wants(), crowd, [offer(), scripts], 2],
  ['jobs that it can run do, whatever they need', wants(), crowd, [offer({ gpus: 1 })], 5],
  ['of two runners, the shorter line', wants(), crowd, [offer({ gpus: 1 }), offer()], 2],
  ['a script counts scripts', wants({ kind: 'custom' }), crowd, [offer(), scripts], 5000],
  [
    'a script for a container that one runner has',
    wants({ kind: 'custom', container: 'py:3.11' }),
    [...crowd, waits(1, { kind: 'custom', container: 'py:3.11' })],
    [scripts],
    5001,
  ],
  ['no runner can run it: those that need the same', wants({ gpus: 1 }), crowd, [offer(), scripts], 3],
  ['no runner at all', wants(), crowd, [], 2],
  ['it was taken meanwhile', wants(), [], [offer()], 1],
];
for (const [name, job, waiting, offers, place] of places)
  test(`place in the queue: ${name}`, () => assert.equal(queuePlace(job, waiting, offers), place));

test('containers: of runners that run scripts, each once', () => {
  const without = offer({ containers: [container('py:3.9')] });
  const two = offer({ kinds: ['custom'], containers: [container('py:3.11'), container('py:3.12')] });
  assert.deepEqual([...containersOf([without, scripts, two]).keys()], ['py:3.11', 'py:3.12']);
});

test('why no runner runs scripts', () => {
  assert.equal(noScriptsBecause([offer(), scripts]), undefined);
  assert.equal(noScriptsBecause([]), 'none has asked for work within a day');
  assert.equal(noScriptsBecause([offer(), offer({ noScriptsBecause: 'no bubblewrap' })]), 'no bubblewrap');
  assert.equal(noScriptsBecause([offer()]), 'theirs are of an older version');
});
