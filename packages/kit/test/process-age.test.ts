import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { processAgeMs, processStartTime } from '@platform/kit/node';

test('the age of a process comes from its start time, whoever asks', async () => {
  const own = processAgeMs(processStartTime(process.pid) ?? '');
  assert.ok(own !== undefined && Math.abs(own - process.uptime() * 1000) < 2_000, `${own}`);
  const child = spawn('sleep', ['60']);
  await once(child, 'spawn');
  const young = processAgeMs(processStartTime(child.pid ?? 0) ?? '');
  child.kill('SIGKILL');
  assert.ok(young !== undefined && young <= own, `${young} of ${own}`);
  assert.equal(processAgeMs('of another system'), undefined);
});
