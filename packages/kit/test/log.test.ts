import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { test } from 'node:test';
import { Cell, createLog, Secret, type Level, type LogLine } from '@platform/kit';
import { formatLine } from '@platform/kit/node';
import { captureLog, FakeClock, seededRandom } from '@platform/kit/testing';

test('a line carries wall time, level, the name of its log and the fields of its parents', async () => {
  const clock = new FakeClock(5000);
  const { log, lines } = captureLog(clock);
  await clock.advance(7);
  log.child('sync', { part: 'p1' }).child('poll').warn('late', { ms: 3 });
  assert.deepEqual(lines, [
    { time: 5007, level: 'warn', logger: 'test.sync.poll', message: 'late', fields: { part: 'p1', ms: 3 } },
  ]);
});

test('the level may change while the program runs, for children too', () => {
  const [level, lines] = [new Cell<Level>('info'), [] as LogLine[]];
  const log = createLog({ name: 'a', clock: new FakeClock(), level, sink: (l) => lines.push(l) }).child('b');
  log.debug('one');
  level.set('debug');
  log.debug('two');
  level.set('error');
  log.warn('three');
  log.error('four');
  assert.deepEqual(
    lines.map((l) => l.message),
    ['two', 'four'],
  );
});

const rows: [name: string, fields: Record<string, unknown>, shown: Record<string, unknown>][] = [
  ['by class', { x: new Secret('s3') }, { x: '***' }],
  [
    'by name',
    { client_secret: 's3', apiKey: 's3', Authorization: 's3', password: 's3' },
    { client_secret: '***', apiKey: '***', Authorization: '***', password: '***' },
  ],
  ['deep inside', { cloud: [{ id: 'a', secret: 's3' }] }, { cloud: [{ id: 'a', secret: '***' }] }],
  ['whole objects', { credentials: { type: 'api-key', payload: 's3' } }, { credentials: '***' }],
  [
    'in an address',
    { url: 'http://h/sign-in?token=s3&x=1', proxy: 'http://me:s3@h/' },
    { url: 'http://h/sign-in?token=***&x=1', proxy: 'http://me:***@h/' },
  ],
  ['in the text of an error', { error: new Error('sent Bearer s3.x-y to h') }, { error: 'sent Bearer *** to h' }],
  ['counts and absence show', { tokens: 3, has_secret: true, secret: '' }, { tokens: 3, has_secret: true, secret: '' }],
  [
    'plain JSON values only',
    { big: 7n, bytes: new Uint8Array(4), f: () => 1, none: null },
    { big: '7', bytes: '4 bytes', f: undefined, none: null },
  ],
];
for (const [name, fields, shown] of rows) {
  test(`secrets are masked: ${name}`, () => {
    const { log, lines } = captureLog(new FakeClock());
    log.info('m', fields);
    assert.deepEqual(lines[0]?.fields, shown);
    assert.doesNotMatch(JSON.stringify(lines), /s3/);
  });
}

test('a field that refers to itself does not hang the log', () => {
  const ring: Record<string, unknown> = {};
  ring['me'] = ring;
  const { log, lines } = captureLog(new FakeClock());
  log.info('m', ring);
  assert.match(JSON.stringify(lines[0]), /…/);
});

test('a Secret shows itself to reveal() only', () => {
  const secret = new Secret('s3');
  assert.equal(secret.reveal(), 's3');
  for (const shown of [String(secret), JSON.stringify({ secret }), inspect({ secret }), inspect(secret)]) {
    assert.doesNotMatch(shown, /s3/);
  }
});

test('lines as text and as JSON', () => {
  const line: LogLine = {
    time: 0,
    level: 'info',
    logger: 'a.b',
    message: 'went well',
    fields: { n: 1, id: 'x', why: 'two words' },
  };
  assert.equal(formatLine(line, 'text'), '1970-01-01T00:00:00.000Z INFO  a.b went well n=1 id=x why="two words"');
  assert.deepEqual(JSON.parse(formatLine(line, 'json')), { ...line, time: '1970-01-01T00:00:00.000Z' });
});

const draw = (seed: number) => Array.from({ length: 100 }, seededRandom(seed));
test('seeded random: the same for one seed, in [0, 1), different for another', () => {
  assert.deepEqual(draw(1), draw(1));
  assert.notDeepEqual(draw(1), draw(2));
  assert.ok(draw(3).every((x) => x >= 0 && x < 1));
});
