import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { ReleaseSchema } from '@platform/contract/gen/platform/release/v1/release_pb';
import { versionChoices } from './version-choices.ts';

const release = (name: string, version: string, platform: string, channels: string[] = []) =>
  create(ReleaseSchema, { name, version, platform, channels });
const releases = [
  create(ReleaseSchema, {
    name: 'platform-server',
    version: '1.2.0',
    platform: 'linux/arm64',
    revokedOn: timestampFromMs(1),
  }),
  release('platform-server', '1.1.0', 'linux/amd64', ['dev']),
  release('platform-server', '1.0.0', 'linux/amd64', ['stable']),
  release('platform-server', '1.0.0', 'linux/arm64', ['stable']),
  release('platform-agent', '0.9.0', 'linux/amd64', ['stable']),
];
const channels = ['Default: stable (now 1.0.0)', 'stable (now 1.0.0)', 'dev (now 1.1.0)'];
const other = 'Another version or address …';

const table: [name: string, platform: string, chosen: string, texts: string[]][] = [
  ['what fits the machine', 'linux/arm64', 'stable', [...channels, '1.0.0', other]],
  ['each version once where the machine is not known', '', 'dev', [...channels, '1.1.0', '1.0.0', other]],
  [
    'what is chosen and does not exist is shown as that',
    'linux/arm64',
    '1.1.0',
    [...channels, '1.0.0', '1.1.0 (not published for linux/arm64)', other],
  ],
  ['no version', 'linux/arm64', '', [...channels, '1.0.0', other]],
  ['an address', 'linux/arm64', 'file:///opt/x', [...channels, '1.0.0', 'file:///opt/x', other]],
];
for (const [name, platform, chosen, texts] of table)
  test(`versions to choose from: ${name}`, () => {
    const choices = versionChoices(releases, 'platform-server', platform, chosen);
    assert.deepEqual(
      choices.map(({ text }) => text),
      texts,
    );
    assert.ok(choices.some(({ value }) => value === chosen));
  });

test('a program that was never published has its channels', () => {
  assert.deepEqual(
    versionChoices([], 'platform-agent', '', 'stable').map(({ value }) => value),
    ['', 'stable', 'dev', 'other'],
  );
});
