import assert from 'node:assert/strict';
import test from 'node:test';
import type { LogLine } from '@platform/kit';
import { rateLimitLog } from './rate-limit-log.ts';

const line = (time: number, message: string, fields: LogLine['fields'] = {}): LogLine => ({
  time,
  level: 'warn',
  logger: 'cloud',
  message,
  fields,
});
function world() {
  const written: string[] = [];
  const sink = rateLimitLog(({ message, fields }) => written.push(`${message} ${JSON.stringify(fields)}`));
  return { written, sink };
}

test('a repeated message is logged a few times, then the number omitted; other messages are logged', () => {
  const { written, sink } = world();
  for (let n = 0; n < 5_000; n++) sink(line(n, 'the database is away', { n }));
  sink(line(5_000, 'a connection broke'));
  assert.equal(written.length, 21);
  assert.deepEqual([written[0], written.at(-1)], ['the database is away {"n":0}', 'a connection broke {}']);
  // The next line of any message closes the window.
  sink(line(10_001, 'ready'));
  assert.deepEqual(written.slice(21), ['lines were left out {"like":"the database is away","lines":4980}', 'ready {}']);
  sink(line(10_002, 'the database is away', { n: 5_000 }));
  assert.equal(written.at(-1), 'the database is away {"n":5000}');
});

test('a few lines are all written, whatever the clock does; an incident always', () => {
  const { written, sink } = world();
  for (let n = 0; n < 100; n++) sink(line(n % 2 === 0 ? 1e12 : 0, 'tick'));
  assert.equal(written.length, 100);
  for (let n = 0; n < 100; n++) sink(line(0, 'a call failed unexpectedly', { incident: `${n}` }));
  assert.equal(written.length, 200);
});
