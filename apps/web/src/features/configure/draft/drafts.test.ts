import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretPlaceholder } from '@platform/contract/config/placeholders';
import { sectionNames, sectionOf } from '@platform/contract/config/reading';
import { looksSecret } from '@platform/contract/config/secret-names';
import { isBaseOf, keepDraft, missingSecret, missingSecretProblems, restoreDraft } from './drafts.ts';

const network = (psk: string, ssid = 'barn') => `{ "agent": { "networks": [{ "ssid": "${ssid}", "psk": "${psk}" }] } }`;
const by = { tab: 'a', now: 1 };
const keep = (draft: string, text: string) => keepDraft({ text: draft, comment: '', base: { revision: 3n, text } }, by);

const rows: [what: string, draft: string, base: string, restored: string][] = [
  ['no secret', '{ "a": 1 }', '{}', '{ "a": 1 }'],
  ['a saved secret comes back', network('saved-one', 'house'), network('saved-one'), network('saved-one', 'house')],
  ['a typed secret does not', network('typed-now'), network('saved-one'), network(missingSecret)],
  [
    'beside another',
    `[${network('typed')},${network('old')}]`,
    network('old'),
    `[${network(missingSecret)},${network('old')}]`,
  ],
  ['a saved one is a placeholder', network(secretPlaceholder), network('saved-one'), network(secretPlaceholder)],
  [
    'a variable, a secret by the schema',
    '{"agent":{"advanced_settings":{"platform_server_env":{"MODE":"fast"}}}}',
    '{}',
    `{"agent":{"advanced_settings":{"platform_server_env":{"MODE":"${missingSecret}"}}}}`,
  ],
  ['with escapes', network(String.raw`a\"b\\`), network(String.raw`a\"b\\`), network(String.raw`a\"b\\`)],
  ['half typed, saved before', '{ "psk": "hal', '{ "psk": "hal" }', '{ "psk": "hal'],
  ['half typed', '{\n "psk": "hal\n}', '{}', `{\n "psk": "${missingSecret}\n}`],
  [
    'under another name',
    '{ "hotspot_password": "x1234567" }',
    '{ "psk": "x1234567" }',
    `{ "hotspot_password": "${missingSecret}" }`,
  ],
  [
    'of a key that only contains one',
    '{ "the password": { "note": "kept" } }',
    '{}',
    '{ "the password": { "note": "kept" } }',
  ],
];
for (const [what, draft, base, restored] of rows) {
  test(`a draft comes back: ${what}`, () => {
    assert.equal(restoreDraft(keep(draft, base), base), restored);
  });
}

test('what the browser stores has no secret', () => {
  const stored = JSON.stringify(keep(`[${network('typed-now')}, "psk": "half`, network('saved-one')));
  for (const secret of ['typed-now', 'saved-one', 'half']) assert.ok(!stored.includes(secret), stored);
});

test('every secret field of the schema looks like one', () => {
  const secrets = sectionNames.flatMap((name) =>
    Object.entries(sectionOf(name)).filter(([, { isSecret }]) => isSecret),
  );
  assert.ok(secrets.length >= 4);
  const others = secrets.map(([key]) => key).filter((key) => !looksSecret.test(key));
  assert.deepEqual(others, ['platform_server_env'], 'of these, the names of the members decide');
});

test('a secret that was not kept is an error until it is typed again', () => {
  const [problem, ...others] = missingSecretProblems(network(missingSecret));
  assert.deepEqual(others, []);
  assert.equal(problem?.where, 'agent.networks[0].psk');
  assert.equal(problem?.tone, 'bad');
  assert.deepEqual(missingSecretProblems(network('typed')), []);
});

test('the revision a draft is based on is known by its text, not by its number', () => {
  const kept = keep(network('typed'), network('saved'));
  assert.equal(isBaseOf(kept, network('saved')), true);
  assert.equal(isBaseOf(kept, network('saved', 'another')), false);
});
