import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installCommands } from './install-command.ts';

const release = (platform: string, change: { channels?: string[]; target?: string } = {}) => ({
  platform,
  channels: ['stable'],
  target: 'signed',
  url: `https://app.test/releases/platform-agent/1.0.0/${platform.replace('/', '-')}/platform-agent`,
  sha256: new Uint8Array(32).fill(0x0a),
  ...change,
});
const all = ['linux/amd64', 'linux/arm64', 'windows/amd64'];

for (const [what, agents, missing] of [
  ['every platform', all.map((one) => release(one)), []],
  ['nothing', [], all],
  ['one in another channel', [release('linux/amd64'), release('linux/arm64', { channels: ['dev'] })], all.slice(1)],
  ['one without a signature', [release('linux/arm64', { target: '' })], all],
] as const) {
  test(`commands that install the agent: ${what} is released`, () => {
    const found = installCommands('curl -fsSL https://app.test/install.sh', agents);
    assert.equal(found.linux, 'curl -fsSL https://app.test/install.sh | sudo sh');
    assert.deepEqual(found.missing, missing);
    assert.equal(
      found.windows === undefined,
      found.missing.some((one) => one === 'windows/amd64'),
    );
  });
}

test('the command for Windows runs only the file whose hash the page knows', () => {
  const { windows } = installCommands('', [release('windows/amd64')]);
  const url = 'https://app.test/releases/platform-agent/1.0.0/windows-amd64/platform-agent';
  assert.equal(
    windows,
    `$f = "$env:TEMP\\platform-agent.exe"; curl.exe -fsSkL -o $f ${url}; if ((Get-FileHash $f).Hash -ne '${'0a'.repeat(32)}') { throw 'This is not the file that the page named.' }; & $f install`,
  );
});
