import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import type { WindowsEvent } from '../os/windows-ports.ts';
import { warningsAsEvents } from './event-log.ts';

test('the event log gets warnings and errors, each message once an hour', async () => {
  const clock = new FakeClock();
  const events: WindowsEvent[] = [];
  const sink = warningsAsEvents((event) => events.push(event), {
    format: ({ message, fields }) => `${message} ${String(fields['n'])}`,
    clock,
  });
  const log = createLog({ name: 'supervisor', clock, level: 'debug', sink });
  log.info('the agent was started', { n: 0 });
  for (let n = 0; n < 100; n++) log.error('the agent could not be started', { n });
  log.warn('the agent has ended', { n: 1 });
  assert.deepEqual(events, [
    { type: 'error', id: 11, text: 'the agent could not be started 0' },
    { type: 'warning', id: 10, text: 'the agent has ended 1' },
  ]);
  await clock.advance(60 * 60_000);
  log.error('the agent could not be started', { n: 100 });
  assert.deepEqual(
    events.slice(2).map(({ text }) => text),
    ['the agent could not be started 100'],
  );
});
