import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { signSums } from '@platform/releases/archive-signature';
import type { Component } from '../components.ts';
import { hostPlatform } from '../platforms.ts';
import { makeSbom } from '../sbom.ts';
import { checkArchive } from './check-archive.ts';
import { checkProgram } from './check-program.ts';
import { archiveName, filesOf, releasedPrograms, signatureFile, sumsFile } from './contents.ts';
import { checkSums, formatSums, sha256OfFile } from './sums.ts';
import { plainEnvironment } from '../../../packages/kit/src/node/environment.ts';

const version = '1.2.3';
const pemOf = (
  key: { export: (options: { type: 'pkcs8' | 'spki'; format: 'pem' }) => string | Buffer },
  type: 'pkcs8' | 'spki',
) => String(key.export({ type, format: 'pem' }));
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const key = { pem: pemOf(privateKey, 'pkcs8'), name: 'sign.pem', passphrase: undefined };
const publicPem = pemOf(publicKey, 'spki');

function inFolder(use: (folder: string) => void): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-release-'));
  try {
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const files = filesOf(version, ['linux-x64']);

/** The files of a release with any content, and their signed sums. */
function writeRelease(folder: string): void {
  for (const file of files) writeFileSync(path.join(folder, file), `content of ${file}`);
  const sums = formatSums(new Map(files.map((file) => [file, sha256OfFile(path.join(folder, file))])));
  writeFileSync(path.join(folder, sumsFile), sums);
  writeFileSync(path.join(folder, signatureFile), signSums(sums, key).signature);
}

const flip = (file: string, at: number): void => {
  const bytes = readFileSync(file);
  bytes.writeUInt8((bytes[at] ?? 0) ^ 1, at);
  writeFileSync(file, bytes);
};

test('a release as it was signed has no problem; one altered byte in any of its files is named', () => {
  inFolder((folder) => {
    writeRelease(folder);
    assert.deepEqual(checkSums(folder, publicPem, files), []);
    for (const file of files) {
      const at = path.join(folder, file);
      flip(at, 3);
      const [problem, ...others] = checkSums(folder, publicPem, files);
      assert.ok(problem?.startsWith(`${file} was altered: `) && others.length === 0, problem);
      flip(at, 3);
    }
    for (const file of [sumsFile, signatureFile]) {
      flip(path.join(folder, file), 3);
      assert.match(checkSums(folder, publicPem, files).join(), /^SHA256SUMS is not signed by this key/, file);
      flip(path.join(folder, file), 3);
    }
    const other = pemOf(generateKeyPairSync('ed25519').publicKey, 'spki');
    assert.match(checkSums(folder, other, files).join(), /^SHA256SUMS is not signed by this key/);
  });
});

test('a file that is missing, unknown or not listed is named', () => {
  inFolder((folder) => {
    writeRelease(folder);
    const [first = ''] = files;
    rmSync(path.join(folder, first));
    writeFileSync(path.join(folder, 'extra.sh'), 'x');
    assert.deepEqual(checkSums(folder, publicPem, [...files, 'needed.tgz']), [
      'needed.tgz is not in SHA256SUMS',
      'extra.sh is not in SHA256SUMS',
      `${first} is missing`,
    ]);
    rmSync(path.join(folder, signatureFile));
    assert.deepEqual(checkSums(folder, publicPem, files), ['SHA256SUMS.sig is missing']);
  });
});

test('a build does not replace a folder of other files', () => {
  inFolder((folder) => {
    const [out, mine, signKey] = ['out', 'out/mine.txt', 'sign.pem'].map((name) => path.join(folder, name)) as [
      string,
      string,
      string,
    ];
    mkdirSync(out);
    writeFileSync(mine, 'mine');
    writeFileSync(signKey, key.pem);
    const tool = path.resolve(import.meta.dirname, '../../release-build.ts');
    const done = spawnSync(process.execPath, [tool, '--sign-key', signKey, '--out', out], {
      encoding: 'utf8',
      env: plainEnvironment(),
    });
    assert.equal(done.status, 2, done.stderr);
    assert.match(done.stderr, /has other files than those of a release/);
    assert.ok(existsSync(mine));
  });
});

const agent = releasedPrograms(version).find(({ file }) => file === `platform-agent-${version}-linux-arm64`)!;
const dependencies = Object.entries(
  (
    JSON.parse(readFileSync(path.resolve(import.meta.dirname, '../../../apps/agent/package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    }
  ).dependencies,
).filter(([name]) => !name.startsWith('@platform/'));
const library = (name: string, of: string): Component => ({
  type: 'library',
  name,
  version: of,
  license: 'MIT',
  purl: `pkg:npm/${name.replace('@', '%40')}@${of}`,
  texts: [],
});
const components = [
  ...dependencies.map(([name, of]) => library(name, of)),
  library('@oven/bun-linux-aarch64', '1.0.0'),
];

/** A program with what the build writes beside it. */
function writeProgram(folder: string, contained: readonly Component[], of = agent, content = 'program'): string {
  const { name, platform, file } = of;
  const at = path.join(folder, file);
  const note = `PLATFORM-PROGRAM:${JSON.stringify({ name, version, platform })}`;
  writeFileSync(at, `${content}\n${note}\n`, { mode: 0o755 });
  const sha256 = sha256OfFile(at);
  writeFileSync(`${at}.sha256`, `${sha256}  ${file}\n`);
  writeFileSync(`${at}.json`, JSON.stringify({ name, version, platform, sha256 }));
  const subject = { name, version, platform, sha256, license: 'Apache-2.0', texts: [] };
  writeFileSync(`${at}.sbom.cdx.json`, makeSbom(subject, contained));
  return at;
}

test('a program is what its name, its sums and its SBOM say, and its SBOM names what it must', () => {
  inFolder((folder) => {
    const at = writeProgram(folder, components);
    assert.deepEqual(checkProgram(folder, version, agent), []);
    const other = releasedPrograms(version).find(({ file }) => file === `platform-agent-${version}-windows-amd64.exe`)!;
    for (const ending of ['', '.json', '.sha256', '.sbom.cdx.json'])
      cpSync(`${at}${ending}`, path.join(folder, `${other.file}${ending}`));
    assert.match(
      checkProgram(folder, version, other).join('\n'),
      /windows-amd64\.exe does not end with its build note/,
    );
    for (const missing of components) {
      writeProgram(
        folder,
        components.filter((one) => one !== missing),
      );
      const lacks = missing.name.startsWith('@oven/') ? 'the runtime' : missing.name;
      assert.deepEqual(checkProgram(folder, version, agent), [`${agent.file}.sbom.cdx.json: it lacks ${lacks}`]);
    }
    writeProgram(folder, components);
    appendFileSync(at, 'x');
    assert.match(
      checkProgram(folder, version, agent).join('\n'),
      /build note\n.*json describes another.*\n.*of another file\n.*sbom/,
    );
  });
});

test('a program of this host prints its version', () => {
  const own = releasedPrograms(version).find(
    ({ name, platform: of }) => name === agent.name && of === hostPlatform()?.name,
  );
  assert.ok(own);
  inFolder((folder) => {
    for (const [printed, isGood] of [
      [version, true],
      ['1.2.2', false],
    ] as const) {
      const script = `#!/bin/sh\necho '{"version":"${printed}","binary_name":"platform-agent"}'; exit`;
      // A download has lost the right to be executed.
      chmodSync(writeProgram(folder, components, own, script), 0o644);
      const problems = checkProgram(folder, version, own);
      if (isGood) assert.deepEqual(problems, []);
      else assert.match(problems.join(), /--version prints .*1\.2\.2.*, not 1\.2\.3$/);
    }
  });
});

const platform = process.arch === 'arm64' ? 'linux-arm64' : 'linux-x64';

/** An archive with one package of others, and what the build writes beside it. */
function writeArchive(folder: string, of: { says: string; contained: readonly Component[] }): void {
  const file = archiveName(version, platform);
  const inside = path.join(folder, file.replace('.tar.gz', ''));
  const write = (name: string, text: string, mode = 0o644): void => {
    mkdirSync(path.dirname(path.join(inside, name)), { recursive: true });
    writeFileSync(path.join(inside, name), text, { mode });
  };
  write('release.json', JSON.stringify({ version, platform }));
  write('node_modules/@of/it/package.json', JSON.stringify({ name: '@of/it', version: '2.0.0' }));
  write('node_modules/@of/it/esm/package.json', JSON.stringify({ type: 'module' }));
  write('platform', `#!/bin/sh\necho ${of.says}\n`, 0o755);
  const sbom = makeSbom({ name: 'platform-management', version, license: 'Apache-2.0', texts: [] }, of.contained);
  write('sbom.cdx.json', sbom);
  const at = path.join(folder, file);
  assert.equal(spawnSync('tar', ['-czf', at, '-C', folder, path.basename(inside)]).status, 0);
  writeFileSync(`${at}.sbom.cdx.json`, sbom);
  const sums = `${sha256OfFile(at)}  ${file}\n`;
  writeFileSync(`${at}.sha256`, sums);
  writeFileSync(`${at}.sha256.sig`, signSums(sums, key).signature);
}

test('an archive of the server says its version, and its SBOM names each package in it', () => {
  inFolder((parent) => {
    const folder = path.join(parent, 'release');
    mkdirSync(folder);
    const file = archiveName(version, platform);
    const contained = [library('@of/it', '2.0.0')];
    const problems = () => checkArchive(folder, version, platform, publicPem);
    writeArchive(folder, { says: version, contained });
    assert.deepEqual(problems(), []);
    writeArchive(folder, { says: '1.2.2', contained });
    assert.deepEqual(problems(), [`${file}: platform --version prints "1.2.2"`]);
    writeArchive(folder, { says: version, contained: [library('@of/it', '1.0.0')] });
    assert.deepEqual(problems(), [`${file}: its SBOM lacks @of/it@2.0.0`]);
    writeFileSync(path.join(folder, `${file}.sbom.cdx.json`), '{}');
    assert.match(problems().join(), /the SBOM beside it is another one/);
    flip(path.join(folder, file), 30);
    assert.deepEqual(problems(), [`${file}.sha256 is of another file`]);
    flip(path.join(folder, `${file}.sha256.sig`), 3);
    assert.deepEqual(problems(), [`${file}.sha256 is not signed by this key`]);
  });
});
