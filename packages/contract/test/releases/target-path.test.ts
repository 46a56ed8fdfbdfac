import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patchTargetPath, platformSegment, programTargetPath } from '../../src/releases/target-path.ts';

// Published agents compute these paths themselves: a change makes every signed release unreadable to them.
const programs: readonly (readonly [name: string, version: string, platform: string, path: string])[] = [
  ['platform-agent', '1.4.0', 'linux/amd64', 'platform-agent/1.4.0/linux-amd64'],
  ['platform-agent', '1.4.0', 'windows/amd64', 'platform-agent/1.4.0/windows-amd64'],
  ['platform-server', '1.4.0-rc.1', 'linux/arm64', 'platform-server/1.4.0-rc.1/linux-arm64'],
  ['platform-server', '1.4.0+build', 'linux/arm64', 'platform-server/1.4.0+build/linux-arm64'],
];
for (const [name, version, platform, path] of programs) {
  test(`${name} ${version} for ${platform} has the path ${path}`, () => {
    assert.equal(programTargetPath({ name, version, platform }), path);
    assert.equal(platformSegment(platform), path.split('/')[2]);
  });
}

test('a patch has the first 12 hex digits of the old and of the new file in its path, in this order', () => {
  const [fromSha256, toSha256] = ['0123456789ab'.padEnd(64, 'c'), 'fedcba987654'.padEnd(64, '3')];
  assert.equal(patchTargetPath({ fromSha256, toSha256 }), 'delta/0123456789ab/fedcba987654');
  assert.equal(patchTargetPath({ fromSha256: toSha256, toSha256: fromSha256 }), 'delta/fedcba987654/0123456789ab');
});
