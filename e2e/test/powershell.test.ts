// The line that the app prints for Windows is PowerShell, whatever the server's address.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyedCommands, windowsInstallCommand } from '@platform/contract/provisioning/install-command';
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

const agent = {
  platform: 'windows/amd64',
  channels: ['stable'],
  target: 'platform-agent/1.0.0/windows-amd64',
  url: 'https://fleet.test/releases/platform-agent/1.0.0/windows-amd64/platform-agent',
  sha256: new Uint8Array(32).fill(10),
};
const install = { scriptCommand: '', url: 'https://fleet.test', keyId: 'i', key: 'once_k-_', partId: 'p' };
const begin = [
  "$env:PLATFORM_URL = 'https://fleet.test'",
  "$env:PLATFORM_API_KEY_ID = 'i'",
  "$env:PLATFORM_API_KEY = 'once_k-_'",
  "$env:PLATFORM_PART_ID = 'p'",
];
const program = [
  '$f = "$env:TEMP\\platform-agent.exe"',
  `curl.exe -fsSkL -o $f ${agent.url}`,
  `if ((Get-FileHash $f).Hash -ne '${sha256}') { throw 'This is not the file that the page named.' }`,
];

test('the line with a one-time key for Windows fetches its credentials, and trusts the authority that it names', async () => {
  const of = (authoritySha256: string) => keyedCommands({ ...install, authoritySha256 }, [agent], 'm').windows ?? '';
  assert.deepEqual(await statementsOf(of('')), [...begin, ...program, '& $f install']);
  assert.deepEqual(await statementsOf(of('0b'.repeat(32))), [
    ...begin,
    '$c = "$env:TEMP\\platform-authority.pem"',
    'curl.exe -fsSkL -o $c https://fleet.test/authority.pem',
    `if ((Get-FileHash $c).Hash -ne '${'0b'.repeat(32)}') { throw 'This is not the authority that the page named.' }`,
    ...program,
    '& $f install --authority $c',
  ]);
  assert.equal(keyedCommands({ ...install, authoritySha256: '' }, [], 'm').windows, undefined);
});
