import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { plainEnvironment } from '@platform/kit/node';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { compile } from './release/compile.ts';
import { describe } from './release/contents.ts';
import { hostPlatform, platforms } from './release/platforms.ts';
import { programs } from './release/programs.ts';
import { runtimeFor } from './release/runtimes.ts';

const root = path.resolve(import.meta.dirname, '..');

interface Made {
  readonly name: string;
  readonly version: string;
  readonly platform: string;
  readonly sha256: string;
  readonly size: number;
  readonly file: string;
}

function release(...args: string[]): { status: number | null; made: Made[]; stderr: string } {
  const done = spawnSync(process.execPath, [path.join(root, 'tools', 'release.ts'), ...args], {
    env: plainEnvironment(),
    encoding: 'utf8',
  });
  const lines = done.stdout.split('\n').filter((line) => line !== '');
  return { status: done.status, made: lines.map((line) => JSON.parse(line) as Made), stderr: done.stderr };
}

const hashOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

interface Sbom {
  readonly text: string;
  readonly metadata: { readonly component: { readonly hashes: readonly { readonly content: string }[] } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly hashes?: readonly { readonly content: string }[];
  }[];
}

function readSbom(file: string): Sbom {
  const text = readFileSync(`${file}.sbom.cdx.json`, 'utf8');
  return { ...(JSON.parse(text) as Omit<Sbom, 'text'>), text };
}

/** Creates a second checkout: copies the sources and links third-party packages. */
function otherCheckout(folder: string): void {
  for (const part of ['apps', 'packages']) {
    cpSync(path.join(root, part), path.join(folder, part), {
      recursive: true,
      filter: (from) => !/(^|\/)(node_modules|dist|test)$/.test(path.relative(root, from)),
    });
  }
  const modules = path.join(folder, 'node_modules');
  mkdirSync(modules, { recursive: true });
  for (const name of readdirSync(path.join(root, 'node_modules'))) {
    if (name !== '@platform') symlinkSync(path.join(root, 'node_modules', name), path.join(modules, name));
  }
  mkdirSync(path.join(modules, '@platform'));
  for (const name of ['contract', 'kit', 'sandbox']) {
    symlinkSync(path.join('..', '..', 'packages', name), path.join(modules, '@platform', name));
  }
}

test('each program of each platform is an executable of that platform and says what it is in its last line', () => {
  const heads: Record<string, (bytes: Buffer) => boolean> = {
    'linux/amd64': (b) => b.toString('latin1', 0, 4) === '\x7fELF' && b.readUInt16LE(18) === 62,
    'linux/arm64': (b) => b.toString('latin1', 0, 4) === '\x7fELF' && b.readUInt16LE(18) === 183,
    'windows/amd64': (b) => b.toString('latin1', 0, 2) === 'MZ' && b.readUInt16LE(b.readUInt32LE(60) + 4) === 0x8664,
  };
  for (const name of Object.keys(programs)) {
    const { status, made, stderr } = release(name, '--platform', 'all');
    assert.equal(status, 0, stderr);
    assert.deepEqual(
      made.map((m) => [m.name, m.platform]),
      platforms.map((p) => [name, p.name]),
    );
    for (const { platform, version, file, sha256, size } of made) {
      const bytes = readFileSync(file);
      assert.ok(heads[platform]?.(bytes), `${file} is not a program for ${platform}`);
      const note = `\nPLATFORM-PROGRAM:${JSON.stringify({ name, version, platform })}\n`;
      assert.equal(bytes.toString('utf8', bytes.length - note.length), note);
      assert.deepEqual([hashOf(file), bytes.length], [sha256, size]);
      assert.equal(readFileSync(`${file}.sha256`, 'utf8'), `${sha256}  ${path.basename(file)}\n`);
      if (platform !== hostPlatform()?.name) continue;
      const printed = spawnSync(file, ['--version'], { encoding: 'utf8', env: {} });
      assert.deepEqual(JSON.parse(printed.stdout), { version, binary_name: name }, printed.stderr);
    }
  }
});

test('the same sources give the same bytes in another folder, for every platform', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-elsewhere-'));
  try {
    otherCheckout(folder);
    for (const program of Object.values(programs)) {
      for (const platform of platforms) {
        const { made, stderr } = release(program.name, '--platform', platform.name);
        const target = path.join(folder, 'made here', platform.target, 'any-name');
        const version = made[0]?.version ?? '';
        const bun = runtimeFor(hostPlatform()!);
        const of = { program, version, platform, fault: undefined };
        const inputs = compile(of, { sources: folder, bun }, target);
        const sha256 = hashOf(target);
        assert.equal(sha256, made[0]?.sha256, `${program.name} for ${platform.name} ${stderr}`);
        const described = describe({ ...of, sha256 }, inputs, folder);
        const file = made[0]?.file ?? '';
        assert.equal(described.sbom, readFileSync(`${file}.sbom.cdx.json`, 'utf8'));
        assert.equal(described.licenses, readFileSync(`${file}.licenses.txt`, 'utf8'));
        rmSync(target);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('the SBOM of each program lists each package that its source map names, and the runtime and embedded files', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-sbom-'));
  try {
    for (const program of Object.values(programs)) {
      const { made, stderr } = release(program.name, '--platform', 'all');
      const entry = path.join('apps', program.app, program.entry);
      const external = Object.keys(program.files).flatMap((file) => ['--external', file]);
      const args = ['build', '--target=bun', '--sourcemap=external', '--outdir', folder, ...external, entry];
      const done = spawnSync(runtimeFor(hostPlatform()!), args, { cwd: root, encoding: 'utf8' });
      assert.equal(done.status, 0, done.stderr);
      const map = readFileSync(path.join(folder, path.basename(entry, '.ts') + '.js.map'), 'utf8');
      const { sources } = JSON.parse(map) as { sources: string[] };
      const bundled = new Set(
        sources.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path.resolve(folder, file))?.[0] ?? []),
      );
      assert.ok(bundled.size >= 10, `${bundled.size} ${stderr}`);
      for (const { file, sha256, platform } of made) {
        const sbom = readSbom(file);
        assert.equal(sbom.metadata.component.hashes[0]?.content, sha256);
        assert.deepEqual(await new Validation.JsonStrictValidator(Spec.Spec1dot6.version).validate(sbom.text), null);
        const listed = new Set(sbom.components.map(({ name, version }) => `${name} ${version}`));
        const licenses = readFileSync(`${file}.licenses.txt`, 'utf8');
        const expected = [...bundled].map((at) => readFileSync(path.join(at, 'package.json'), 'utf8'));
        for (const { name, version } of expected.map((text) => JSON.parse(text) as Record<string, string>)) {
          assert.ok(listed.delete(`${name} ${version}`), `${name} ${version} is missing from the SBOM of ${file}`);
          assert.ok(licenses.includes(`\n${name} ${version}: `), `${name} ${version} is missing from the licenses`);
        }
        const runtime = platforms.find((one) => one.name === platform)!;
        const others = [runtime.runtime, ...Object.values(program.files).map((name) => path.basename(name))];
        assert.deepEqual([...listed].map((line) => line.split(' ')[0]).toSorted(), others.toSorted());
        const hashed = sbom.components.find(({ name }) => name === runtime.runtime);
        assert.equal(hashed?.hashes?.[0]?.content, hashOf(runtimeFor(runtime)));
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a program made to crash does so with its stack alone, not with its source', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-faults-'));
  try {
    for (const name of Object.keys(programs)) {
      const { made, stderr } = release(name, '--test-fault', 'crash', '--out', folder);
      const ended = spawnSync(made[0]?.file ?? '', [], { encoding: 'utf8', env: {} });
      assert.equal(ended.status, 70, stderr);
      assert.match(ended.stderr, /^Error: this program was made to crash\n( +at .{0,200}\n)+$/);
      assert.equal(spawnSync(made[0]?.file ?? '', ['--version'], { env: {} }).status, 0);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('what cannot be built is refused with what could be', () => {
  const cases: readonly [string[], RegExp][] = [
    [[], /is not a kind of build. Known: platform-agent, platform-server, agent-bundle, agent-on-node/],
    [['platform-agent', '--platform', 'linux/riscv'], /"linux\/riscv" is not a platform. Known: linux\/amd64, /],
    [['platform-agent', '--release-version', 'newest'], /"newest" is not a semantic version/],
    [['platform-agent', '--test-fault', 'smoke'], /"smoke" is not a fault. Known: crash, hang, mute/],
  ];
  for (const [args, message] of cases) {
    const { status, stderr } = release(...args);
    assert.equal(status, 2);
    assert.match(stderr, message);
  }
});

test('the runtimes of other platforms are the version that this machine compiles with', () => {
  const pins = (file: string): Record<string, string> => {
    const json = JSON.parse(readFileSync(path.join(root, file), 'utf8')) as Record<string, Record<string, string>>;
    return { ...json['optionalDependencies'], ...json['dependencies'] };
  };
  const [all, own] = [pins('tools/bun/package.json'), pins('package.json')];
  assert.deepEqual(Object.keys(all).toSorted(), platforms.map((p) => p.runtime).toSorted());
  const versions = new Set([...Object.values(all), ...platforms.map((p) => own[p.runtime]).filter((v) => v)]);
  assert.equal(versions.size, 1, [...versions].join(' '));
  assert.ok(existsSync(path.join(root, 'tools', 'bun', 'package-lock.json')));
});
