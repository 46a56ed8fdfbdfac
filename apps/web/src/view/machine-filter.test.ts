import assert from 'node:assert/strict';
import { test } from 'node:test';
import { typedFilters } from './machine-filter.ts';

for (const [text, filters] of [
  ['', []],
  [' , ', []],
  ['architecture=aarch64', ['architecture=aarch64']],
  ['disk_free<2GB, reboot_needed', ['disk_free<2GB', 'reboot_needed']],
  ['model~"Pi 4, Rev 1",name~a', ['model~"Pi 4, Rev 1"', 'name~a']],
] as const)
  test(`filters of a text: ${text}`, () => assert.deepEqual(typedFilters(text), { filters, problem: undefined }));

test('a text that cannot be parsed is not used, and the problem is named', () => {
  const { filters, problem } = typedFilters('reboot_needed, arch=x');
  assert.deepEqual(filters, []);
  assert.match(problem ?? '', /no field "arch".*architecture/);
});
