import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unitExitReason } from '../../../state/exit-reason.ts';
import { lastRun, previousRunOf } from './journal.ts';

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
  assert.deepEqual(lastRun(output, 'three')?.words, [
    'Error: boom',
    '    at füü',
    'platform-agent.service: Main process exited, code=exited, status=70',
  ]);
  assert.deepEqual(lastRun(output, 'three')?.lines, ['Error: boom', '    at füü']);
  const timed = JSON.stringify({
    MESSAGE: 'x',
    _SYSTEMD_INVOCATION_ID: 'two',
    __REALTIME_TIMESTAMP: '1795428757199737',
  });
  assert.equal(lastRun(timed, 'three')?.atWall, 1_795_428_757_200);
  assert.equal(lastRun('', 'three'), undefined);
});

test('how the last run ended, from the fields that systemd adds', () => {
  const ended = (fields: Record<string, string>, result?: string) =>
    [
      entry('two', 'made to crash'),
      JSON.stringify({
        MESSAGE: 'Control process exited',
        INVOCATION_ID: 'two',
        COMMAND: 'ExecStartPre',
        EXIT_CODE: 'exited',
        EXIT_STATUS: '9',
      }),
      JSON.stringify({ MESSAGE: 'Main process exited', INVOCATION_ID: 'two', COMMAND: 'ExecStart', ...fields }),
      ...(result === undefined
        ? []
        : [JSON.stringify({ MESSAGE: 'Failed', INVOCATION_ID: 'two', UNIT_RESULT: result })]),
      JSON.stringify({ MESSAGE: 'Starting', INVOCATION_ID: 'three' }),
    ].join('\n');
  const table: [fields: Record<string, string>, result: string | undefined, reason: string | undefined][] = [
    [{ EXIT_CODE: 'exited', EXIT_STATUS: '70' }, 'exit-code', 'exit 70'],
    [{ EXIT_CODE: 'exited', EXIT_STATUS: '70' }, undefined, 'exit 70'],
    [{ EXIT_CODE: 'killed', EXIT_STATUS: '9' }, 'signal', 'signal SIGKILL'],
    [{ EXIT_CODE: 'dumped', EXIT_STATUS: '11' }, 'core-dump', 'signal SIGSEGV'],
    [
      { EXIT_CODE: 'killed', EXIT_STATUS: '9' },
      'oom-kill',
      'killed by the kernel because memory ran out (signal SIGKILL)',
    ],
    [
      { EXIT_CODE: 'killed', EXIT_STATUS: '6' },
      'watchdog',
      'it hung: systemd ended it because it showed no sign of life (signal SIGABRT)',
    ],
    [{ EXIT_CODE: 'killed', EXIT_STATUS: '15' }, 'timeout', 'not ready in time; systemd ended it (signal SIGTERM)'],
    [{ EXIT_CODE: 'exited', EXIT_STATUS: '0' }, 'protocol', 'it ended before it was ready (exit 0)'],
    [{}, undefined, undefined],
  ];
  for (const [fields, result, reason] of table)
    assert.equal(unitExitReason(lastRun(ended(fields, result), 'three')!.exit), reason);
});

test('a timeout: systemd names no signal for an end by its own TERM, and does for one that it forced', () => {
  // Output of systemd 252, without unused fields.
  const aboutUnit = (fields: Record<string, string>) => JSON.stringify({ INVOCATION_ID: 'two', ...fields });
  const starting = aboutUnit({ MESSAGE: 'Starting platform-agent.service…', JOB_TYPE: 'start' });
  const late = aboutUnit({ MESSAGE: 'platform-agent.service: start operation timed out. Terminating.' });
  const killed = aboutUnit({
    MESSAGE: 'platform-agent.service: Main process exited, code=killed, status=9/KILL',
    COMMAND: 'ExecStart',
    EXIT_CODE: 'killed',
    EXIT_STATUS: '9',
  });
  const failed = aboutUnit({ MESSAGE: "Failed with result 'timeout'.", UNIT_RESULT: 'timeout' });
  const notStarted = aboutUnit({ MESSAGE: 'Failed to start.', JOB_TYPE: 'start', JOB_RESULT: 'failed' });
  const started = aboutUnit({ MESSAGE: 'Started.', JOB_TYPE: 'start', JOB_RESULT: 'done' });
  const stopping = aboutUnit({ MESSAGE: 'Stopping platform-agent.service…', JOB_TYPE: 'stop' });
  const stopped = aboutUnit({ MESSAGE: 'Stopped.', JOB_TYPE: 'stop', JOB_RESULT: 'done' });
  const table: [entries: string[], reason: string][] = [
    [[starting, late, failed, notStarted], 'not ready in time; systemd ended it (signal SIGTERM)'],
    [[starting, late, killed, failed, notStarted], 'not ready in time; systemd ended it (signal SIGKILL)'],
    [
      [starting, started, stopping, killed, failed, stopped],
      'it did not end in time after a stop request; systemd ended it (signal SIGKILL)',
    ],
  ];
  for (const [entries, reason] of table)
    assert.equal(unitExitReason(lastRun(entries.join('\n'), 'three')!.exit), reason);
});

test('without a journal there is no previous run', async () => {
  assert.equal(await previousRunOf('platform-agent.service', {}), undefined);
});
