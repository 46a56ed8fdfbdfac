// The line that the app prints for Windows is PowerShell, whatever the server's address.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { windowsInstallCommand } from '@platform/contract/install-command';
import { installSteps, statementsOf } from '../lab/powershell.ts';

const sha256 = '0a'.repeat(32);
for (const server of [
  'https://app.platform.test',
  'http://127.0.0.1:8080',
  'https://[::1]:8443',
  'https://x-y.example',
])
  test(`the line for Windows is valid PowerShell, for ${server}`, async () => {
    const url = `${server}/releases/platform-agent/1.0.0-rc.1/windows-amd64/platform-agent`;
    assert.deepEqual(await installSteps(windowsInstallCommand({ url, sha256 })), {
      file: 'platform-agent.exe',
      url,
      sha256,
      args: ['install'],
    });
  });

const line = windowsInstallCommand({ url: 'https://app.test/a', sha256 });
for (const [what, broken] of [
  ['a brace', line.replace('}', '')],
  ['a quote', line.replace(`'${sha256}'`, `'${sha256}`)],
  ['a parenthesis', line.replace('if (', 'if ')],
] as const) {
  test(`the parser refuses the line without ${what}`, () => assert.rejects(statementsOf(broken), /not PowerShell/));
}
