import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastRun, lastWordsOf } from './journal.ts';

const entry = (run: string, message: unknown, systemd = false) =>
  JSON.stringify({
    MESSAGE: message,
    SYSLOG_IDENTIFIER: systemd ? 'systemd' : 'platform-agent',
    ...(systemd ? { INVOCATION_ID: run, _SYSTEMD_INVOCATION_ID: 'of systemd' } : { _SYSTEMD_INVOCATION_ID: run }),
  });

test("the last run's words, systemd's included, without those of this run and of older ones", () => {
  const output = [
    entry('one', 'old'),
    entry('two', 'Error: boom'),
    'not JSON',
    entry('two', [...Buffer.from('    at füü')]),
    entry('two', 'platform-agent.service: Main process exited, code=exited, status=70', true),
    '{"MESSAGE": null}',
    entry('three', 'Starting platform agent', true),
    entry('three', 'platform agent started'),
    '',
  ].join('\n');
  assert.deepEqual(lastRun(output, 'three'), [
    'Error: boom',
    '    at füü',
    'platform-agent.service: Main process exited, code=exited, status=70',
  ]);
  assert.deepEqual(lastRun('', 'three'), []);
});

test('without a journal there are no words', async () => {
  assert.deepEqual(await lastWordsOf('platform-agent.service', {}), []);
});
