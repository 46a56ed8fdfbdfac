// Failures of apt and dpkg with their recorded output: the condition shows the cause, the attempts are few, and it goes when it works.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { failureLines } from '../src/system/run-packages.ts';
import { aptMachine } from './apt-machine.ts';
import { agentOn } from './system-agent.ts';

const folder = path.join(import.meta.dirname, 'apt-failures');
const linesOf = (name: string): string[] =>
  readFileSync(path.join(folder, `${name}.txt`), 'utf8')
    .trimEnd()
    .split('\n');

const causes: Readonly<Record<string, RegExp>> = {
  'no-network': /Could not resolve 'deb\.debian\.org'.*Could not resolve 'security\.debian\.org'/,
  'no-server': /Err:1 .* InRelease: Could not connect to 127\.0\.0\.1:8098 .* \(111: Connection refused\)/,
  'no-release-file': /Err:2 .* Release: 404 {2}File not found .* does not have a Release file/,
  'no-package-file': /Failed to fetch .*tool_1\.0_all\.deb {2}404 {2}File not found/,
  'unknown-key': /W: GPG error: .* NO_PUBKEY 2744AAAE2DA43A1E .* is not signed/,
  'bad-signature': /GPG error: .* invalid: BADSIG 2744AAAE2DA43A1E/,
  'full-disk-lists': /Failed to fetch .*InRelease {2}Error writing to file - write \(28: No space left on device\)/,
  'full-disk-download': /Failed to fetch .*\.deb {2}Error writing to file - write \(28: No space left on device\)/,
  'full-disk-unpack':
    /big_1\.0_all\.deb \(--unpack\): \| .*'\/opt\/big\.bin\.dpkg-new': failed to write \(No space left on device\)/,
  'held-lock': /^Waiting for cache lock: .* process 24417 \(python3\).* \| E: Unable to acquire the dpkg frontend lock/,
  'held-lock-of-dpkg': /^dpkg: error: dpkg frontend lock was locked by another process with pid 24417$/,
  'interrupted-dpkg': /^E: dpkg was interrupted, you must manually run 'dpkg --configure -a'/,
  'half-installed-package': /^E: The package big needs to be reinstalled, but I can't find an archive for it\.?$/,
};

test('there is a cause for each recorded failure', () =>
  assert.deepEqual(
    readdirSync(folder)
      .filter((name) => name.endsWith('.txt'))
      .toSorted(),
    Object.keys(causes)
      .map((name) => `${name}.txt`)
      .toSorted(),
  ));

for (const [name, cause] of Object.entries(causes))
  test(`a package manager that fails: ${name}`, async () => {
    const lines = linesOf(name);
    assert.match(failureLines(lines).join(' | '), cause);
    await using at = await aptMachine();
    at.packages.next = async () => ({ code: 100, lines });
    const agent = agentOn(at);
    agent.receive(1, { system_configuration: { os_auto_upgrade_type: 'security' } });
    await agent.until('the condition', () => at.codes().length > 0);
    const [condition, ...more] = at.conditions.get();
    assert.deepEqual([condition?.code, more], ['OS_PACKAGES_FAILED', []]);
    const [shown = ''] = /failed to install unattended-upgrades: (.*)$/s.exec(condition?.message ?? '')?.slice(1) ?? [];
    assert.match(shown.replace(/\.$/, ''), cause);
    assert.match(condition?.remedy ?? '', /Check the network, the disk and the repositories/);
    const start = at.clock.now();
    await agent.until('a day', () => at.clock.now() > start + 24 * 3_600_000, 900_000);
    assert.ok(at.packages.started.length < 25, `${at.packages.started.length} attempts in a day`);
    assert.deepEqual(at.conditions.get(), [condition], 'one condition, with its first time');
    at.packages.next = async () => {
      at.world.isInstalled = true;
      return { code: 0 };
    };
    await agent.until('applied', () => agent.revision() === 1, 900_000);
    assert.deepEqual(at.codes(), []);
    await agent.stop();
  });
