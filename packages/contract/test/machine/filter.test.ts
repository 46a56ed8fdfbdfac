import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '../../src/errors/errors.ts';
import { factFields } from '../../src/machine/fields.ts';
import { parseFilters } from '../../src/machine/filter.ts';

for (const [text, expected] of [
  ['architecture=aarch64', ['architecture', '=', 'aarch64']],
  ['  kernel ~ 6.1 ', ['kernel', '~', '6.1']],
  ['model~"Raspberry Pi 4"', ['model', '~', 'Raspberry Pi 4']],
  ['model!=a=b', ['model', '!=', 'a=b']],
  ['disk_free<2GB', ['disk_free', '<', 2e9]],
  ['disk_free <= 1.5 GiB', ['disk_free', '<=', 1.5 * 2 ** 30]],
  ['memory>=1000', ['memory', '>=', 1000]],
  ['disk_free_percent<10', ['disk_free_percent', '<', 10]],
  ['temperature>-5.5', ['temperature', '>', -5.5]],
  ['reboot_needed', ['reboot_needed', '=', true]],
  ['reboot_needed!=true', ['reboot_needed', '!=', true]],
] as const)
  test(`a filter: ${text}`, () => {
    const [{ field, operator, value } = assert.fail()] = parseFilters([text]);
    assert.deepEqual([field, operator, value], expected);
  });

for (const [text, code, problem] of [
  ['', 'FILTER_NOT_VALID', /does not begin with the name/],
  ['=x', 'FILTER_NOT_VALID', /does not begin with the name/],
  ['arch=x', 'FILTER_FIELD_UNKNOWN', /"arch".*architecture/],
  ['toString=x', 'FILTER_NOT_VALID', /does not begin with the name/],
  ['constructor=x', 'FILTER_FIELD_UNKNOWN', /"constructor"/],
  ['architecture', 'FILTER_NOT_VALID', /must follow/],
  ['architecture=', 'FILTER_NOT_VALID', /a text/],
  ['architecture=a\0', 'FILTER_NOT_VALID', /a text/],
  ['architecture<aarch64', 'FILTER_NOT_VALID', /= != ~ only/],
  ['disk_free<much', 'FILTER_NOT_VALID', /a size, for example 500MB/],
  ['disk_free<2XB', 'FILTER_NOT_VALID', /a size/],
  ['disk_free~2', 'FILTER_NOT_VALID', /only/],
  ['temperature>70GB', 'FILTER_NOT_VALID', /a number/],
  ['temperature>1e999', 'FILTER_NOT_VALID', /a number/],
  ['reboot_needed=maybe', 'FILTER_NOT_VALID', /true or false/],
  [`model=${'x'.repeat(300)}`, 'FILTER_NOT_VALID', /more than 200 characters/],
] as const)
  test(`no filter: ${text.slice(0, 30).replaceAll('\0', 'NUL')}`, () => {
    assert.throws(
      () => parseFilters([text]),
      (error) => error instanceof PlatformError && error.code === code && problem.test(error.message),
    );
  });

test('more filters than the limit are refused', () => {
  assert.throws(() => parseFilters(Array.from({ length: 11 }, () => 'reboot_needed')), /at most 10/);
});

test('the examples of the fields are valid filters', () => {
  for (const [name, { description }] of Object.entries(factFields)) {
    const example = new RegExp(`${name}[!<>=~]+("[^"]*"|[^ ,]+)`).exec(description)?.[0];
    if (example !== undefined) assert.equal(parseFilters([example])[0]?.field, name);
  }
});
