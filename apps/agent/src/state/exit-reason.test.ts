import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exitReason, isInBackground, notReadyReason, reportedLines, type ProcessExit } from './exit-reason.ts';

const child = { pid: 7, command: `/opt/server ${'x'.repeat(200)}` };
const rows: [exit: Partial<ProcessExit>, reason: string, isBackground: boolean][] = [
  [{ code: 3 }, 'exit 3', false],
  [{ code: 0 }, 'exit 0', false],
  [{ signal: 'SIGSEGV' }, 'signal SIGSEGV', false],
  [{ signal: 'SIGKILL', isOutOfMemory: true }, 'killed by the kernel because memory ran out', false],
  [{ signal: 'SIGKILL', isOutOfMemory: false }, 'signal SIGKILL', false],
  [{}, 'unknown', false],
  [{ code: 1, leftBehind: [child] }, 'exit 1', false],
  [
    { code: 0, leftBehind: [child] },
    `it went into the background: its first process ended with exit 0, process 7 (/opt/server ${'x'.repeat(68)}) went on and was ended`,
    true,
  ],
];
for (const [exit, reason, isBackground] of rows) {
  test(`an exit in words: ${reason}`, () => {
    const whole = { code: null, signal: null, ...exit };
    assert.deepEqual([exitReason(whole), isInBackground(whole)], [reason, isBackground]);
  });
}

test('what was not ready in time says so before how it was ended', () => {
  const exit = { code: null, signal: 'SIGQUIT' };
  assert.equal(notReadyReason(600_000, exit), 'not ready within 10 minutes; the agent ended it (signal SIGQUIT)');
  assert.equal(notReadyReason(60_000, exit), 'not ready within 1 minute; the agent ended it (signal SIGQUIT)');
  assert.equal(notReadyReason(45_000, exit), 'not ready within 45 seconds; the agent ended it (signal SIGQUIT)');
});

test('last lines are few, short, printable and without secrets', () => {
  const many = Array.from({ length: 100 }, (_, i) => `line ${i}`);
  const mask = (text: string) => text.replaceAll('hunter2', '***');
  const lines = reportedLines([...many, '', '\u001b[31mred\u001b[0m\thunter2\u0007', 'y'.repeat(10_000)], mask);
  assert.equal(lines.length, 20);
  assert.deepEqual(lines.slice(-3), ['line 99', 'red ***', `${'y'.repeat(299)}…`]);
  assert.deepEqual(reportedLines([`${'z'.repeat(298)}\u{1f600}${'z'.repeat(9)}`], mask), [`${'z'.repeat(298)}\ufffd…`]);
  // Mask first, then cut: half a secret would not be masked.
  assert.deepEqual(reportedLines([`${'z'.repeat(296)}hunter2`], mask), [`${'z'.repeat(296)}***`]);
});
