import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { bundledFolders, type Component, packageComponent } from './components.ts';
import { isAllowed, licenseIds } from './licenses.ts';
import { linkedIntoBun, linkedIntoLitert, linkedIntoOnnxruntime } from './linked.ts';
import { disallowed, makeLicenseList, makeSbom, type Subject } from './sbom.ts';

const subject: Subject = {
  name: 'program',
  version: '1.0.0',
  platform: 'linux/amd64',
  sha256: 'ab'.repeat(32),
  license: 'Apache-2.0',
  texts: ['our own license'],
};

/** A folder with an installed package of these files. */
function installed(json: object, files: Readonly<Record<string, string>>, use: (folder: string) => void): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-package-'));
  try {
    writeFileSync(path.join(folder, 'package.json'), JSON.stringify(json));
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
    mkdirSync(path.join(folder, 'licenses'));
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const library = (name: string, license: string, more: Partial<Component> = {}): Component => ({
  type: 'library',
  name,
  version: '2.0.0',
  license,
  texts: [],
  ...more,
});

const licenses: readonly [expression: string, isGood: boolean, component?: string][] = [
  ['MIT', true],
  ['(MIT OR GPL-3.0-only)', true],
  ['MIT AND GPL-3.0-only', false],
  ['MIT AND (ISC OR AGPL-3.0-only)', true],
  ['Apache-2.0 WITH LLVM-exception', true],
  ['AGPL-3.0-only', false],
  ['SSPL-1.0', false],
  ['SEE LICENSE IN LICENSE', false],
  ['UNLICENSED', false],
  ['', false],
  ['LGPL-2.1-or-later', false],
  ['LGPL-2.1-or-later', true, 'tinycc'],
  ['GPL-2.0-only', false, 'tinycc'],
  ['LGPL-2.1-or-later', false, 'toString'],
];
for (const [expression, isGood, component = 'any'] of licenses) {
  test(`the license "${expression}" of ${component} is ${isGood ? 'allowed' : 'refused'}`, () => {
    assert.equal(isAllowed(expression, component), isGood);
  });
}

test('an installed package is a component with its license, address and texts', () => {
  const json = { name: '@of/it', version: '1.2.3', license: '(MIT)', repository: 'git+https://github.com/of/it.git' };
  const files = { 'LICENSE.md': 'the license\r\n', NOTICE: 'the notice', 'index.js': 'code', 'data.bin': 'data' };
  installed(json, files, (folder) => {
    assert.deepEqual(packageComponent(folder, { type: 'file', file: 'data.bin' }), {
      type: 'file',
      name: '@of/it',
      version: '1.2.3',
      license: 'MIT',
      purl: 'pkg:npm/%40of/it@1.2.3',
      url: 'https://github.com/of/it',
      sha256: '3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7',
      texts: ['the license', 'the notice'],
    });
  });
});

const spellings: readonly [json: object, license: string, url: string | undefined][] = [
  [{ license: { type: 'ISC' }, repository: { url: 'git://github.com/of/it.git' } }, 'ISC', 'https://github.com/of/it'],
  [{ licenses: [{ type: 'MIT' }, { type: 'ISC' }], repository: 'of/it' }, 'MIT OR ISC', 'https://github.com/of/it'],
  [{ repository: 'git@github.com:of/it' }, '', 'https://github.com/of/it'],
  [{ license: 'MIT', homepage: 'https://it.example/' }, 'MIT', 'https://it.example/'],
  [{ license: 'MIT' }, 'MIT', undefined],
];
for (const [json, license, url] of spellings) {
  test(`package.json with ${JSON.stringify(json)} means ${license || 'no license'}`, () => {
    installed({ name: 'it', version: '1.0.0', ...json }, {}, (folder) => {
      const one = packageComponent(folder);
      assert.deepEqual([one.license, one.url], [license, url]);
    });
  });
}

test('an input of a bundle belongs to the innermost package', () => {
  const inputs = [
    'apps/a/src/main.ts',
    'node_modules/a/x.js',
    'node_modules/@b/c/node_modules/d/e/f.js',
    'node_modules/a/y.js',
  ];
  assert.deepEqual(bundledFolders(inputs, '/from'), ['/from/node_modules/@b/c/node_modules/d', '/from/node_modules/a']);
});

test('an SBOM is valid, the same for every order, and has another serial number for other content', async () => {
  const parts = [library('inner', 'MIT'), library('other', 'ISC')];
  const components = [library('b', 'MIT', { parts }), library('a', 'Apache-2.0 OR MIT', { purl: 'pkg:npm/a@2.0.0' })];
  const text = makeSbom(subject, components);
  assert.equal(await new Validation.JsonStrictValidator(Spec.Spec1dot6.version).validate(text), null);
  const reordered = [components[1]!, { ...components[0]!, parts: parts.toReversed() }, components[1]!];
  assert.equal(makeSbom(subject, reordered), text);
  const serial = (of: string): unknown => (JSON.parse(of) as { serialNumber: unknown }).serialNumber;
  assert.match(String(serial(text)), /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.notEqual(serial(makeSbom({ ...subject, sha256: 'cd'.repeat(32) }, components)), serial(text));
  assert.doesNotMatch(text, /timestamp/);
});

test('the list of licenses has each text once, and the SPDX text for a component without one', () => {
  const components = [
    library('a', 'MIT', { texts: ['MIT by A'], url: 'https://a.example' }),
    library('b', 'MIT', { texts: ['MIT by A'] }),
    library('c', 'BSD-3-Clause AND ISC', { parts: [library('tinycc', 'LGPL-2.1-or-later')] }),
  ];
  const text = makeLicenseList(subject, components);
  assert.match(text, /^Licenses of program 1\.0\.0 for linux\/amd64 /);
  for (const line of ['a 2.0.0: MIT, https://a.example', 'b 2.0.0: MIT', 'c 2.0.0: BSD-3-Clause AND ISC'])
    assert.ok(text.includes(`\n${line}\n`), line);
  assert.match(text, /\ntinycc 2\.0\.0: LGPL-2\.1-or-later \(users can relink /);
  assert.equal(text.split('MIT by A').length, 2);
  assert.match(text, /\na, b\n=+\n\nMIT by A\n/);
  assert.match(
    text,
    /\nBSD-3-Clause, the license of c\n=+\n\nCopyright \(c\) the authors of the components named above/,
  );
  assert.match(text, /\nISC, the license of c\n/);
  assert.match(text, /GNU LESSER GENERAL PUBLIC LICENSE/);
  assert.ok(text.includes('our own license'));
});

test('everything that is linked into the runtime, onnxruntime and LiteRT has an allowed license with a text', () => {
  const linked = [...linkedIntoBun, ...linkedIntoOnnxruntime, ...linkedIntoLitert];
  assert.deepEqual(disallowed(linked), []);
  for (const { license } of linked) assert.ok(licenseIds(license).length > 0);
  assert.deepEqual(disallowed([library('c', 'MIT', { parts: [library('bad', 'SSPL-1.0')] }), library('none', '')]), [
    'bad 2.0.0: SSPL-1.0',
    'none 2.0.0: no license',
  ]);
});
