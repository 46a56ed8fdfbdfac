// Builds the programs that machines download:
//   node tools/release.ts platform-agent|platform-server [--release-version V] [--platform P|all] [--out FOLDER]
//     <out>/<program>-<version>-<platform>, one executable file, with .sha256, .json (name, version, platform, sha256, size),
//     .sbom.cdx.json (what it contains, CycloneDX) and .licenses.txt
//   node tools/release.ts agent-bundle                            <out>/platform-agent.mjs, the agent for Node
//   node tools/release.ts agent-on-node                           the same with Node inside, one file; never shipped
// --platform: linux/amd64, linux/arm64, windows/amd64 or all; default: this machine's platform.
// --test-fault crash|hang|mute|background builds a test program that fails in this way.
// Skips a program whose sources are unchanged. Prints one JSON line for each file on stdout, and messages for the user
// on stderr.
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { isSemanticVersion } from '@platform/contract/releases/semantic-version';
import { platformSegment } from '@platform/contract/releases/target-path';
import { bundleForNode, compile, type Build } from './release/compile.ts';
import { describe } from './release/contents.ts';
import { compileOnNode } from './release/on-node.ts';
import { hostPlatform, platforms, type Platform } from './release/platforms.ts';
import { faults, programs, type Fault, type Program } from './release/programs.ts';
import { RuntimeMissing, runtimeFor } from './release/runtimes.ts';

const root = path.resolve(import.meta.dirname, '..');

class Refusal extends Error {}

function ownPlatform(): Platform {
  const own = hostPlatform();
  if (own !== undefined && own.name.startsWith('linux/')) return own;
  throw new Refusal(`Releases can't be built on ${process.platform} ${process.arch}, only on linux x64 and arm64.`);
}

/** sha256 over all sources of the program and its build options. */
function fingerprint(app: string, ...how: readonly unknown[]): string {
  const hash = createHash('sha256').update(JSON.stringify([app, process.arch, ...how]));
  const patterns = [
    `apps/${app}/src/**/*.ts`,
    `apps/${app}/package.json`,
    'packages/*/src/**/*.ts',
    'package-lock.json',
    'tools/bun/package-lock.json',
    'tools/release.ts',
    'tools/release/*.ts',
    'LICENSE',
    'NOTICE',
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

/** Runs `make` unless `target` was built from the same sources before. */
function unlessFresh(wanted: string, target: string, make: () => void): void {
  const stamp = `${target}.stamp`;
  // The stamp is written last: with it, all files are there.
  if (existsSync(target) && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  process.stderr.write(`Building ${path.relative(root, target)} …\n`);
  rmSync(stamp, { force: true });
  make();
  writeFileSync(stamp, wanted);
}

function releaseOne(of: Build, out: string): object {
  const { program, version, platform, fault } = of;
  const fileName = `${program.name}-${version}-${platformSegment(platform.name)}${platform.suffix}`;
  const file = path.join(out, fileName);
  unlessFresh(fingerprint(program.app, program, version, platform, fault), file, () => {
    const inputs = compile(of, { sources: root, bun: runtimeFor(ownPlatform()) }, file);
    const bytes = readFileSync(file);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(`${file}.sha256`, `${sha256}  ${fileName}\n`);
    const about = { name: program.name, version, platform: platform.name, sha256, size: bytes.length };
    writeFileSync(`${file}.json`, `${JSON.stringify(about)}\n`);
    const { sbom, licenses } = describe({ ...of, sha256 }, inputs, root);
    writeFileSync(`${file}.sbom.cdx.json`, sbom);
    writeFileSync(`${file}.licenses.txt`, licenses);
  });
  return { ...(JSON.parse(readFileSync(`${file}.json`, 'utf8')) as object), file };
}

/** The agent with its Node entry point; the compiled program's entry point needs Bun. */
const agentOfNode: Program = { ...programs['platform-agent'], entry: 'src/main.ts' };

function agentOnNode(what: 'agent-bundle' | 'agent-on-node', version: string, out: string): object {
  const file = path.join(out, what === 'agent-bundle' ? 'platform-agent.mjs' : `platform-agent-${version}-on-node`);
  const of = { program: agentOfNode, version, fault: undefined };
  const place = { sources: root, bun: runtimeFor(ownPlatform()) };
  unlessFresh(fingerprint(agentOfNode.app, of, what, process.version), file, () =>
    what === 'agent-bundle' ? bundleForNode(of, place, file) : compileOnNode(of, place, file),
  );
  return { name: 'platform-agent', version, file };
}

const oneOf = <T extends string>(what: string, given: string, known: readonly T[]): T => {
  const found = known.find((name) => name === given);
  if (found === undefined) throw new Refusal(`"${given}" is not a ${what}. Known: ${known.join(', ')}.`);
  return found;
};

function main(): object[] {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'release-version': { type: 'string' },
      platform: { type: 'string' },
      out: { type: 'string', default: path.join(root, 'dist') },
      'test-fault': { type: 'string' },
    },
  });
  const kinds = ['platform-agent', 'platform-server', 'agent-bundle', 'agent-on-node'] as const;
  const what = oneOf('kind of build', positionals[0] ?? '', kinds);
  const program: Program = programs[what === 'platform-server' ? what : 'platform-agent'];
  const workspace = JSON.parse(readFileSync(path.join(root, 'apps', program.app, 'package.json'), 'utf8')) as {
    version: string;
  };
  const version = values['release-version'] ?? workspace.version;
  if (!isSemanticVersion(version)) throw new Refusal(`"${version}" is not a semantic version.`);
  const out = path.resolve(values.out);
  mkdirSync(out, { recursive: true });
  if (what === 'agent-bundle' || what === 'agent-on-node') return [agentOnNode(what, version, out)];
  const names = platforms.map((p) => p.name);
  const wanted = values.platform ?? ownPlatform().name;
  const chosen = wanted === 'all' ? names : [oneOf('platform', wanted, names)];
  const given = values['test-fault'];
  const fault: Fault | undefined = given === undefined ? undefined : oneOf('fault', given, faults);
  return platforms
    .filter((p) => chosen.includes(p.name))
    .map((platform) => releaseOne({ program, version, platform, fault }, out));
}

try {
  for (const made of main()) process.stdout.write(`${JSON.stringify(made)}\n`);
} catch (error) {
  process.exitCode = error instanceof Refusal ? 2 : 1;
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  // The reason comes last: `npm start` shows the last line.
  const isExpected = error instanceof Refusal || error instanceof RuntimeMissing;
  process.stderr.write(isExpected ? `${message}\n` : `${stack}\n${message.trim()}\n`);
}
