// Builds what machines download:
//   node tools/release.ts platform-server [--release-version V]   dist/platform-server-<version>-<platform>, one executable file
//   node tools/release.ts agent-bundle                            dist/platform-agent.mjs, the agent for a Node
// Skipped while nothing it is made of has changed. Prints one JSON line on stdout; everything for people goes to stderr.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const root = path.resolve(import.meta.dirname, '..');
const dist = path.join(root, 'dist');

/** Hosts that can build, the name their releases have, and the package that holds their compiler. */
const hosts: Readonly<Record<string, { platform: string; compiler: string }>> = {
  'linux-x64': { platform: 'linux/amd64', compiler: '@oven/bun-linux-x64' },
  'linux-arm64': { platform: 'linux/arm64', compiler: '@oven/bun-linux-aarch64' },
};

class Refusal extends Error {}

interface Program {
  /** Workspace folder below apps/. */
  readonly app: string;
  readonly entry: string;
  readonly flags: readonly string[];
}

const programs = {
  'platform-server': {
    app: 'machine-server',
    entry: 'src/compiled.ts',
    flags: [
      '--compile',
      '--minify',
      '--bytecode',
      '--format=esm',
      '--no-compile-autoload-dotenv',
      '--no-compile-autoload-bunfig',
      '--compile-exec-argv=--use-system-ca',
    ],
  },
  'agent-bundle': { app: 'agent', entry: 'src/main.ts', flags: ['--target=node', '--format=esm'] },
} as const satisfies Record<string, Program>;

function compiler(): { platform: string; bun: string } {
  const host = hosts[`${process.platform}-${process.arch}`];
  if (host === undefined) {
    throw new Refusal(
      `Releases can't be built on ${process.platform} ${process.arch}, only on ${Object.keys(hosts).join(' and ')}.`,
    );
  }
  const bun = path.join(root, 'node_modules', host.compiler, 'bin', 'bun');
  if (!existsSync(bun))
    throw new Refusal(`The compiler ${host.compiler} is not installed. Run the set-up again (npm start).`);
  return { platform: host.platform, bun };
}

/** sha256 over everything the program is made of, and over how it is made. */
function fingerprint(program: Program, version: string): string {
  const hash = createHash('sha256').update(JSON.stringify([program, version, process.arch]));
  const patterns = [
    `apps/${program.app}/src/**/*.ts`,
    `apps/${program.app}/package.json`,
    'packages/*/src/**/*.ts',
    'package-lock.json',
    'tools/release.ts',
  ];
  const files = globSync(patterns, {
    cwd: root,
    exclude: (name) => name.includes('node_modules') || name.endsWith('.test.ts'),
  });
  for (const file of files.toSorted())
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(path.join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

/**
 * Compiles into a folder of its own and moves the result into place, so that nobody meets half a file. The name of the
 * output is always the same: it is part of the bytes.
 */
function build(program: Program, version: string, target: string, bun: string): void {
  const folder = mkdtempSync(path.join(dist, '.build-'));
  try {
    const entry = path.join('apps', program.app, program.entry);
    const out = path.join(folder, 'program');
    const define = `PLATFORM_RELEASE_VERSION=${JSON.stringify(version)}`;
    const args = ['build', ...program.flags, '--define', define, entry, '--outfile', out];
    // Its own settings and caches stay out of the result.
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder, TMPDIR: folder };
    const done = spawnSync(bun, args, { cwd: root, env, encoding: 'utf8' });
    if (done.status !== 0)
      throw new Error(
        `${path.basename(bun)} ${args.join(' ')} ended with ${done.status ?? done.signal}:\n${done.stdout}${done.stderr}`,
      );
    chmodSync(out, 0o755);
    renameSync(out, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs `make` unless `target` was made of the same sources before. */
function unlessFresh(program: Program, version: string, target: string, make: () => void): void {
  const stamp = `${target}.stamp`;
  const wanted = fingerprint(program, version);
  if (existsSync(target) && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  process.stderr.write(`Building ${path.relative(root, target)} …\n`);
  rmSync(stamp, { force: true });
  make();
  writeFileSync(stamp, wanted);
}

function releaseServer(version: string): object {
  const name = 'platform-server';
  const program = programs[name];
  const { platform, bun } = compiler();
  const file = path.join(dist, `${name}-${version}-${platform.replace('/', '-')}`);
  unlessFresh(program, version, file, () => {
    build(program, version, file, bun);
    const bytes = readFileSync(file);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(`${file}.sha256`, `${sha256}  ${path.basename(file)}\n`);
    writeFileSync(`${file}.json`, `${JSON.stringify({ name, version, platform, sha256, size: bytes.length })}\n`);
  });
  return { ...(JSON.parse(readFileSync(`${file}.json`, 'utf8')) as object), file };
}

function bundleAgent(version: string): object {
  const file = path.join(dist, 'platform-agent.mjs');
  unlessFresh(programs['agent-bundle'], version, file, () =>
    build(programs['agent-bundle'], version, file, compiler().bun),
  );
  return { name: 'platform-agent', version, file };
}

function main(): object {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'release-version': { type: 'string' } },
  });
  const [what] = positionals;
  if (what !== 'platform-server' && what !== 'agent-bundle') {
    throw new Refusal(`usage: node tools/release.ts ${Object.keys(programs).join('|')} [--release-version V]`);
  }
  const workspace = JSON.parse(readFileSync(path.join(root, 'apps', programs[what].app, 'package.json'), 'utf8')) as {
    version: string;
  };
  const version = values['release-version'] ?? workspace.version;
  if (!/^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$/.test(version)) throw new Refusal(`"${version}" is no semantic version.`);
  mkdirSync(dist, { recursive: true });
  return what === 'platform-server' ? releaseServer(version) : bundleAgent(version);
}

try {
  process.stdout.write(`${JSON.stringify(main())}\n`);
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
