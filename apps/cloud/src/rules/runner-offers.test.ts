import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containersOf, noScriptsBecause, type Offer, waitingFor, type Wants } from './runner-offers.ts';

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

test('containers: of runners that run scripts, each once', () => {
  const without = offer({ containers: [container('py:3.9')] });
  const two = offer({ kinds: ['custom'], containers: [container('py:3.11'), container('py:3.12')] });
  assert.deepEqual([...containersOf([without, scripts, two]).keys()], ['py:3.11', 'py:3.12']);
});

test('why nobody runs scripts', () => {
  assert.equal(noScriptsBecause([offer(), scripts]), undefined);
  assert.equal(noScriptsBecause([]), 'none has asked for work within a day');
  assert.equal(noScriptsBecause([offer(), offer({ noScriptsBecause: 'no bubblewrap' })]), 'no bubblewrap');
  assert.equal(noScriptsBecause([offer()]), 'theirs are of an older version');
});
