import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missingPlatforms } from './other-platforms.ts';

const programs = ['platform-agent', 'platform-server'] as const;
const of = (platform: string, version = '1.0.0') => programs.map((name) => ({ name, version, platform }));
const published = (platform: string, change: { version?: string; channels?: string[]; target?: string } = {}) =>
  of(platform, change.version).map((one) => ({ ...one, channels: ['stable', 'dev'], target: 'signed', ...change }));
const all = ['linux/amd64', 'linux/arm64', 'windows/amd64'];

for (const [what, own, there, missing] of [
  ['nothing is published', 'linux/amd64', [], ['linux/arm64', 'windows/amd64']],
  ['the host is an arm64 machine', 'linux/arm64', [], ['linux/amd64', 'windows/amd64']],
  ['one platform is published', 'linux/amd64', published('linux/arm64'), ['windows/amd64']],
  ['all are published', 'linux/amd64', all.flatMap((one) => published(one)), []],
  ['an older version', 'linux/amd64', all.flatMap((one) => published(one, { version: '0.9.0' })), all.slice(1)],
  ['one program of two', 'linux/amd64', published('linux/arm64').slice(1), all.slice(1)],
  ['in no channel', 'linux/amd64', published('linux/arm64', { channels: [] }), all.slice(1)],
  ['not signed', 'linux/amd64', published('linux/arm64', { target: '' }), all.slice(1)],
] as const) {
  test(`platforms to release: ${what}`, () => {
    assert.deepEqual(missingPlatforms(of(own) as never, there), missing);
  });
}
