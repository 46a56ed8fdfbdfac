import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standardLimits } from '../state-machines/server-process.ts';
import { agentStopSeconds, serverStopSeconds, unitText } from './unit.ts';

const value = (text: string, name: string): string | undefined => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1];

test('systemd waits longer for the agent than the agent for the server', () => {
  const text = unitText({ root: '/opt/platform', credentialsFile: '/etc/platform.json' });
  assert.ok(serverStopSeconds * 1000 >= standardLimits.term + standardLimits.quit + standardLimits.kill);
  assert.ok(agentStopSeconds > serverStopSeconds);
  assert.equal(value(text, 'TimeoutStopSec'), String(agentStopSeconds));
});

test('the command lines of the unit name the folder and the file, however they are called', () => {
  const rows: readonly [string, string, string, string][] = [
    [
      '/opt/platform',
      '/etc/platform.json',
      '-/bin/sh /opt/platform/lib/gate /opt/platform',
      '/opt/platform/bin/platform-agent run --root /opt/platform --config /etc/platform.json',
    ],
    [
      '/data/my $platform 100%',
      '/etc/a "b".json',
      '-/bin/sh "/data/my $$platform 100%%/lib/gate" "/data/my $$platform 100%%"',
      '"/data/my $$platform 100%%/bin/platform-agent" run --root "/data/my $$platform 100%%" --config "/etc/a \\"b\\".json"',
    ],
  ];
  for (const [root, credentialsFile, gate, start] of rows) {
    const text = unitText({ root, credentialsFile });
    assert.equal(value(text, 'ExecStartPre'), gate);
    assert.equal(value(text, 'ExecStart'), start);
  }
});
