import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBefore, isSemanticVersion } from '../../src/releases/semantic-version.ts';

const versions: readonly (readonly [text: string, isValid: boolean])[] = [
  ['1.4.0', true],
  ['0.0.0', true],
  ['1.4.0-rc.1', true],
  ['1.4.0+build.5', true],
  ['1.4.0-rc.1+build.5', true],
  ['10.200.3000', true],
  ['', false],
  ['1', false],
  ['1.4', false],
  ['1.4.0.0', false],
  ['v1.4.0', false], // a pin may have the prefix, a version does not
  ['1.4.x', false],
  ['1.4.-1', false],
  ['1.4.0-', false],
  ['1.4.0+', false],
  ['1.4.0-rc_1', false],
  ['1.4.0+a+b', false],
  [' 1.4.0', false],
  ['1.4.0\n', false],
  ['1.4.0/../x', false],
  ['stable', false],
];
for (const [text, isValid] of versions) {
  test(`${JSON.stringify(text)} is ${isValid ? 'a' : 'not a'} semantic version`, () => {
    assert.equal(isSemanticVersion(text), isValid);
  });
}

const orders: readonly (readonly [version: string, other: string, isEarlier: boolean])[] = [
  ['1.4.0', '1.4.1', true],
  ['1.4.1', '1.4.0', false],
  ['1.4.0', '1.4.0', false],
  ['1.4.9', '1.5.0', true],
  ['1.9.9', '2.0.0', true],
  ['2.0.0', '1.9.9', false], // the first part that differs decides
  ['1.9.0', '1.10.0', true], // numbers, not text
  ['1.10.0', '1.9.0', false],
  ['v1.4.0', '1.4.1', true],
  ['1.4.0', 'v1.4.1', true],
  ['1.4.0-rc.1', '1.4.0', false], // a pre-release counts as its release
  ['1.4.0-rc.1', '1.4.1', true],
  ['1.4.0', '1.4.0+build', false],
  ['dev', '1.4.0', false],
  ['1.4.0', 'dev', false],
  ['1.4', '1.5', false],
  ['', '1.4.0', false],
];
for (const [version, other, isEarlier] of orders) {
  test(`"${version}" is ${isEarlier ? 'before' : 'not before'} "${other}"`, () => {
    assert.equal(isBefore(version, other), isEarlier);
  });
}
