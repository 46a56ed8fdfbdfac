import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretPlaceholder } from '@platform/contract/config/placeholders';
import { conflictsOf, mergedText, mergeTexts } from './draft/merge.ts';
import { changedSecret, comparedText, mergeable } from './secret-texts.ts';

const path = 'agent.additional_networks[0].psk';
const network = (psk: string, priority = 1) =>
  `{"agent":{"additional_networks":[\n{"ssid":"Yard",\n"psk":${JSON.stringify(psk)},\n"type":"wifi",\n"hidden":false,\n"priority":${priority}}\n]}}`;
const shown = (mark: string, priority?: number) => ({
  text: network(secretPlaceholder, priority),
  secrets: [{ path, mark }],
});

test('a comparison says that a secret changed, and never shows it', () => {
  assert.equal(comparedText(shown('a'), shown('a', 2)), network(secretPlaceholder, 2));
  assert.equal(comparedText(shown('a'), shown('b')), network(changedSecret));
  assert.equal(comparedText(shown('a'), { text: network('typed now') }), network(changedSecret));
  assert.equal(comparedText({ text: '{}' }, { text: network('typed now') }), network(changedSecret));
  assert.equal(comparedText(shown('a'), { text: 'not JSON' }), 'not JSON');
});

/** Merges, and chooses `side` for each conflict. */
function merged(
  base: ReturnType<typeof shown>,
  theirs: ReturnType<typeof shown>,
  mine: string,
  side: 'theirs' | 'mine',
) {
  const { restore, ...texts } = mergeable({ base, theirs, mine });
  const parts = mergeTexts(texts);
  const conflicts = conflictsOf(parts);
  assert.ok(!JSON.stringify(conflicts).includes('typed now'), 'a conflict shows no secret');
  return {
    conflicts: conflicts.length,
    text: restore(
      mergedText(
        parts,
        conflicts.map(() => side),
      ),
    ),
  };
}

const rows: [
  what: string,
  theirs: ReturnType<typeof shown>,
  mine: string,
  side: 'theirs' | 'mine',
  conflicts: number,
  text: string,
][] = [
  ['no one', shown('a'), network(secretPlaceholder), 'mine', 0, network(secretPlaceholder)],
  ['they', shown('b'), network(secretPlaceholder), 'mine', 0, network(secretPlaceholder)],
  ['I', shown('a', 2), network('typed now\\ "too"'), 'mine', 0, network('typed now\\ "too"', 2)],
  ['both, theirs', shown('b'), network('typed now'), 'theirs', 1, network(secretPlaceholder)],
  ['both, mine', shown('b'), network('typed now'), 'mine', 1, network('typed now')],
];
for (const [what, theirs, mine, side, conflicts, text] of rows)
  test(`merge of a secret, changed by: ${what}`, () => {
    assert.deepEqual(merged(shown('a'), theirs, mine, side), { conflicts, text });
  });
