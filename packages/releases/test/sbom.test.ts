import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { checkSbom } from '../src/sbom.ts';

const program = { name: 'platform-agent', version: '1.0.0', platform: 'linux/amd64', sha256: 'ab'.repeat(32) };
const hashes = [
  { alg: 'SHA-1', content: '00'.repeat(20) },
  { alg: 'SHA-256', content: program.sha256 },
];
const component = { name: 'platform-agent', version: '1.0.0', hashes };
const good = { bomFormat: 'CycloneDX', metadata: { component } };

const documents: readonly [name: string, document: unknown, problem: RegExp | undefined][] = [
  ['of the program', good, undefined],
  [
    'of another file',
    { ...good, metadata: { component: { ...component, hashes: [{ alg: 'SHA-256', content: 'cd' }] } } },
    /a file with sha256 cd, the program has abab/,
  ],
  [
    'with a hash of another kind only',
    { ...good, metadata: { component: { ...component, hashes: hashes.slice(0, 1) } } },
    /sha256 nothing/,
  ],
  [
    'of another program',
    { ...good, metadata: { component: { ...component, name: 'platform-server' } } },
    /describes platform-server 1\.0\.0/,
  ],
  [
    'of another version',
    { ...good, metadata: { component: { ...component, version: '1.0.1' } } },
    /describes platform-agent 1\.0\.1/,
  ],
  ['without metadata', { bomFormat: 'CycloneDX' }, /describes nothing nothing/],
  ['of another format', { spdxVersion: 'SPDX-2.3' }, /not a CycloneDX document/],
  ['that is a list', [], /not a CycloneDX document/],
  ['that is null', null, /not a CycloneDX document/],
];
for (const [name, document, problem] of documents) {
  test(`an SBOM ${name} is ${problem ? 'refused' : 'taken'}`, () => {
    const check = (): void => checkSbom(Buffer.from(JSON.stringify(document)), program);
    if (!problem) return check();
    assert.throws(check, (error) => {
      assert.ok(error instanceof PlatformError && error.code === 'RELEASE_ATTACHMENT_REFUSED');
      assert.match(error.message, problem);
      return true;
    });
  });
}

test('an SBOM that is not JSON is refused', () => {
  assert.throws(() => checkSbom(Buffer.from('{'), program), /it is not JSON/);
});
