import assert from 'node:assert/strict';
import test from 'node:test';
import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { GetHealthResponseSchema } from '@platform/contract/gen/platform/installation/v1/installation_pb';
import { healthPairs, healthState, healthWarnings } from './server-health.ts';

const now = Date.UTC(2026, 0, 10);
const day = 86_400_000;
const at = (ms: number) => timestampFromMs(ms);
const health = (of: MessageInitShape<typeof GetHealthResponseSchema>) => create(GetHealthResponseSchema, of);

test('server health: each check with its text, the certificate and the schedule of backups', () => {
  const shown = health({
    state: 'unavailable',
    checks: [
      { name: 'database', passed: true },
      { name: 'blobs', passed: false, text: 'cannot be written: EROFS' },
      { name: 'disk', passed: true, text: '10.5 GB of 21.0 GB free' },
      { name: 'of a newer server', passed: false },
    ],
    backups: { everyHours: 24, keep: 14 },
    certificateExpiresOn: at(now + 12 * day),
  });
  assert.deepEqual(healthState(shown, true), { tone: 'bad', text: 'Does not work' });
  assert.deepEqual(healthPairs(shown, now), [
    ['Database', 'works'],
    ['Files', 'cannot be written: EROFS'],
    ['Disk', '10.5 GB of 21.0 GB free'],
    ['of a newer server', 'does not work'],
    ['Certificate', 'expires in 12 d'],
    ['Backups', 'every 1 d, the newest 14 are kept'],
  ]);
});

const certificates: readonly [name: string, ends: number | undefined, text: string][] = [
  ['none', undefined, 'none, without TLS'],
  ['expired', now - 2 * day, 'expired 2 d ago'],
  ['valid', now + 3_600_000, 'expires in 1 h'],
];
for (const [name, ends, text] of certificates)
  test(`server health: a certificate that is ${name}`, () => {
    const found = health({ state: 'ok', ...(ends !== undefined && { certificateExpiresOn: at(ends) }) });
    assert.equal(new Map(healthPairs(found, now)).get('Certificate'), text);
  });

type Backups = NonNullable<MessageInitShape<typeof GetHealthResponseSchema>['backups']>;
const backups: readonly [name: string, of: Backups, warning: RegExp | undefined][] = [
  ['no backup and no schedule', {}, /^There is no backup: .*--backup-dir/],
  ['a backup by hand', { lastOn: at(now - 40 * day) }, undefined],
  ['a backup of the future', { lastOn: at(now + day) }, /in the future: .*Nothing shows how old it is/],
  ['a schedule that has just begun', { everyHours: 24, keep: 14 }, undefined],
  ['a schedule that fails', { everyHours: 24, keep: 14, problem: 'There is no backup yet. It failed' }, /It failed/],
];
for (const [name, of, warning] of backups)
  test(`server health: ${name}`, () => {
    const [first] = healthWarnings(health({ state: 'ok', backups: of }), now);
    if (warning) assert.match(first?.text ?? '', warning);
    else assert.equal(first, undefined);
  });

test('server health: what keeps clients away comes first', () => {
  const problems = [
    { text: 'it expires soon', isFatal: false },
    { text: 'it has another name', isFatal: true },
  ];
  assert.deepEqual(healthWarnings(health({ state: 'degraded', problems, backups: { lastOn: at(now) } }), now), [
    { text: 'it has another name', isBad: true },
    { text: 'it expires soon', isBad: false },
  ]);
});

test('server health: without an answer, what worked is not shown as working', () => {
  const found = create(GetHealthResponseSchema, { state: 'ok' });
  assert.deepEqual(healthState(found, true), { tone: 'good', text: 'Works' });
  assert.deepEqual(healthState(found, false), { tone: 'quiet', text: 'Not known: it does not answer' });
});
