import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packageStatus } from '../src/control/status.ts';

test('the packages of the status: security apart, an unknown time is null, a reboot with its cause', () => {
  const upgrade = (name: string, isSecurity: boolean) => ({ name, from: '1', to: '2', isSecurity });
  const status = packageStatus(
    {
      hasApt: true,
      waiting: [upgrade('curl', false), upgrade('openssl', true)],
      lastRun: { startedWall: 5, endedWall: undefined, command: 'apt-get upgrade', packages: [], problem: '' },
      reboot: { sinceWall: 7, causes: ['linux-image'] },
      rebootWait: 'no maintenance window is configured',
      task: '',
      why: 'disable_system_configuration is true',
    },
    (noted) => (noted === 5 ? null : `at ${noted}`),
  );
  assert.deepEqual([status.waiting_count, status.security_count], [2, 1]);
  assert.deepEqual([status.has_apt, status.why], [true, 'disable_system_configuration is true']);
  assert.deepEqual(status.waiting[1], { package: 'openssl', from: '1', to: '2', is_security: true });
  assert.deepEqual([status.last_run?.started, status.last_run?.ended], [null, null]);
  const wait = 'no maintenance window is configured';
  assert.deepEqual(status.reboot, { since: 'at 7', causes: ['linux-image'], wait });
});
