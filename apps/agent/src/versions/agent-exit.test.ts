import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PreviousRun } from '../health/previous-run.ts';
import { agentExitBefore } from './agent-exit.ts';
import { trialReason } from '../state/trial-file.ts';

const [bad, self] = [`1.1.0-${'b'.repeat(12)}`, `1.0.0-${'a'.repeat(12)}`];
const since = 1_000;
const crash: PreviousRun = { reason: 'exit 70', lines: ['boom'], words: [], atWall: since * 1000 - 5_000 };

const rows: [
  name: string,
  previous: PreviousRun,
  crashed: string | undefined,
  id: string | undefined,
  reason?: string,
][] = [
  ['the version on trial crashed, then the gate rolled it back', crash, undefined, bad, 'exit 70'],
  [
    'the agent that was back was restarted a moment later',
    { reason: undefined, lines: ['ends'], words: [] },
    undefined,
    undefined,
  ],
  [
    'the agent that was back crashed a moment later',
    { ...crash, atWall: (since + 9) * 1000 },
    '1.0.0',
    undefined,
    'exit 70',
  ],
  ['the supervisor noted another version', { ...crash, id: self }, '1.0.0', undefined, 'exit 70'],
  ['the reason is unknown', { reason: undefined, lines: [], words: [] }, '1.0.0', undefined],
];
for (const [name, previous, crashed, id, reason] of rows) {
  test(`how the agent before ended: ${name}`, async () => {
    const found = await agentExitBefore({
      bad: async () => [{ id: bad, clearance: 0, since, reason: trialReason }],
      previousRun: async () => previous,
      crashed,
      selfId: self,
      startedWall: (since + 10) * 1000,
      mask: (text) => text,
    });
    assert.deepEqual([found?.id, found?.exit.reason], [id, reason]);
  });
}
