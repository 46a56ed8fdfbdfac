import assert from 'node:assert/strict';
import { test } from 'node:test';
import { thisHost } from './host.ts';

test('a machine says what it is, and which of its starts this is', () => {
  const { platform, bootId, isSupervisedBySystemd } = thisHost();
  assert.match(platform, /^linux\/(amd64|arm64)$/);
  assert.match(bootId, /^[0-9a-f-]{36}$/);
  assert.equal(isSupervisedBySystemd, false);
});
