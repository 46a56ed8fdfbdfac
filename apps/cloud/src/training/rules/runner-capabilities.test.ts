import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  containersOf,
  noScriptsBecause,
  type Capabilities,
  queuePlace,
  waitingFor,
  type WaitingJobs,
  type JobRequirements,
} from './runner-capabilities.ts';

const container = (key: string) => ({ key, uri: '', framework: 'python', description: '', eolMs: null });
const runner = (more: Partial<Capabilities> = {}): Capabilities => ({
  kinds: ['object_detection'],
  gpus: 0,
  containers: [],
  noScriptsBecause: '',
  ...more,
});
const scripts = runner({ kinds: ['custom'], containers: [container('py:3.11')] });
const requirements = (more: Partial<JobRequirements> = {}): JobRequirements => ({
  kind: 'object_detection',
  gpus: 0,
  container: '',
  ...more,
});

const rows: [name: string, requirements: JobRequirements, runners: Capabilities[], expected: RegExp][] = [
  ['no runner', requirements(), [], /^No runner has requested work within a day\. Start one/],
  ['one that can', requirements(), [runner()], /^$/],
  [
    'another kind',
    requirements({ kind: 'multi_label_classification' }),
    [runner()],
    /type multi_label_classification\. Start/,
  ],
  [
    'no scripts, and why',
    requirements({ kind: 'custom' }),
    [runner({ noScriptsBecause: 'bubblewrap is missing: install it' })],
    /training scripts: bubblewrap is missing: install it$/,
  ],
  ['a script, any container', requirements({ kind: 'custom' }), [runner(), scripts], /^$/],
  ['a script, its container', requirements({ kind: 'custom', container: 'py:3.11' }), [scripts], /^$/],
  [
    'another container',
    requirements({ kind: 'custom', container: 'tf:2' }),
    [scripts],
    /"tf:2"; there are: py:3\.11\. Start/,
  ],
  ['GPUs enough', requirements({ gpus: 2 }), [runner(), runner({ gpus: 2 })], /^$/],
  ['too few GPUs', requirements({ gpus: 4 }), [runner({ gpus: 2 })], /has 4 GPUs for a job; the most is 2\. Start/],
  [
    'GPUs in one runner, the container in another',
    requirements({ kind: 'custom', container: 'py:3.11', gpus: 1 }),
    [scripts, runner({ kinds: ['custom'], gpus: 8, containers: [container('py:3.12')] })],
    /has 1 GPUs for a job; the most is 0/,
  ],
];
for (const [name, wanted, runners, expected] of rows)
  test(`a job waits for: ${name}`, () => assert.match(waitingFor(wanted, runners), expected));

const waits = (count: number, more: Partial<JobRequirements> = {}): WaitingJobs => ({ ...requirements(more), count });
const crowd = [waits(5000, { kind: 'custom' }), waits(3, { gpus: 1 }), waits(2)];
const places: [
  name: string,
  requirements: JobRequirements,
  waiting: WaitingJobs[],
  runners: Capabilities[],
  place: number,
][] = [
  ['alone', requirements(), [waits(1)], [runner()], 1],
  ['jobs that this runner cannot run do not count', requirements(), crowd, [runner(), scripts], 2],
  ['jobs that it can run do, whatever they need', requirements(), crowd, [runner({ gpus: 1 })], 5],
  ['of two runners, the shorter line', requirements(), crowd, [runner({ gpus: 1 }), runner()], 2],
  ['a script counts scripts', requirements({ kind: 'custom' }), crowd, [runner(), scripts], 5000],
  [
    'a script for a container that one runner has',
    requirements({ kind: 'custom', container: 'py:3.11' }),
    [...crowd, waits(1, { kind: 'custom', container: 'py:3.11' })],
    [scripts],
    5001,
  ],
  ['no runner can run it: those that need the same', requirements({ gpus: 1 }), crowd, [runner(), scripts], 3],
  ['no runner at all', requirements(), crowd, [], 2],
  ['it was taken meanwhile', requirements(), [], [runner()], 1],
];
for (const [name, job, waiting, runners, place] of places)
  test(`place in the queue: ${name}`, () => assert.equal(queuePlace(job, waiting, runners), place));

test('containers: of runners that run scripts, each once', () => {
  const without = runner({ containers: [container('py:3.9')] });
  const two = runner({ kinds: ['custom'], containers: [container('py:3.11'), container('py:3.12')] });
  assert.deepEqual([...containersOf([without, scripts, two]).keys()], ['py:3.11', 'py:3.12']);
});

test('why no runner runs scripts', () => {
  assert.equal(noScriptsBecause([runner(), scripts]), undefined);
  assert.equal(noScriptsBecause([]), 'none has requested work within a day');
  assert.equal(noScriptsBecause([runner(), runner({ noScriptsBecause: 'no bubblewrap' })]), 'no bubblewrap');
  assert.equal(noScriptsBecause([runner()]), 'theirs are of an older version');
});
