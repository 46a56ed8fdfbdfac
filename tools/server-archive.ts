// npm run build:server [-- --platform linux-x64|linux-arm64|all] [--release-version V] [--programs all|own|none] [--sign-key FILE] [--out FOLDER]
// Builds the archive that installs the management server where there is no network, compiler or root:
//   <out>/platform-management-<version>-<platform>.tar.gz with .sha256, and .sha256.sig by the Ed25519 key of --sign-key
//   (PEM; PLATFORM_RELEASE_PASSPHRASE opens a locked one), .sbom.cdx.json and .licenses.txt
// It holds the programs, Node, the database, the web app, and the agents and machine servers of a fleet (--programs: of
// all platforms, of the archive's own, or none).
// Prints one JSON line for each archive on stdout, and messages for the user on stderr.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { PlatformError } from '@platform/contract/errors/errors';
import { plainEnvironment } from '../packages/kit/src/node/environment.ts';
import { isSemanticVersion } from '@platform/contract/releases/semantic-version';
import { signatureOf, signSums, sumsOf } from '@platform/releases/archive-signature';
import { pack } from './release/server/archive.ts';
import { type ProgramFile, serverPlatforms, stage, type ServerPlatform } from './release/server/stage.ts';

const root = path.resolve(import.meta.dirname, '..');
const say = (text: string): void => void process.stderr.write(`${text}\n`);

class Refusal extends Error {}

/** Names of a platform in releases. */
const releaseNames: Readonly<Record<ServerPlatform, string>> = {
  'linux-x64': 'linux/amd64',
  'linux-arm64': 'linux/arm64',
};

/** Runs a program of this folder, and returns the JSON lines that it prints. */
function builder(file: string, ...args: string[]): Record<string, unknown>[] {
  const done = spawnSync(process.execPath, [path.join(root, 'tools', file), ...args], {
    env: plainEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
  });
  if (done.status !== 0) throw new Refusal(`tools/${file} ${args.join(' ')} ended with ${done.status ?? done.signal}.`);
  return done.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const programs = ['platform-server', 'platform-agent'];
const buildPrograms = (version: string, platform: string): ProgramFile[] =>
  programs.flatMap(
    (name) =>
      builder('release.ts', name, '--release-version', version, '--platform', platform) as unknown as ProgramFile[],
  );

interface Key {
  readonly pem: string;
  readonly name: string;
  readonly passphrase: string | undefined;
}

/** The key is tried before the long build. */
function readSignKey(file: string | undefined): Key | undefined {
  if (file === undefined) return undefined;
  try {
    const passphrase = process.env['PLATFORM_RELEASE_PASSPHRASE'];
    const key = { pem: readFileSync(file, 'utf8'), name: file, passphrase };
    signSums('', key);
    return key;
  } catch (error) {
    throw new Refusal(error instanceof PlatformError ? error.message : `--sign-key ${file} cannot be read.`);
  }
}

function buildArchive(
  platform: ServerPlatform,
  of: { version: string; which: string; web: string; agent: string; out: string; key: Key | undefined },
): object {
  const { version, which, web, agent, out, key } = of;
  const signingKey = key && signSums('', key).publicPem;
  const name = `platform-management-${version}-${platform}`;
  const wanted = which === 'own' ? releaseNames[platform] : 'all';
  const files = which === 'none' ? [] : buildPrograms(version, wanted);
  mkdirSync(out, { recursive: true });
  const work = mkdtempSync(path.join(out, '.server-'));
  const target = path.join(out, `${name}.tar.gz`);
  try {
    say(`Building ${path.relative(process.cwd(), target)} …`);
    const folder = path.join(work, name);
    stage({ version, platform, web, agent, programs: files, signingKey }, folder);
    pack(folder, target);
    for (const part of ['sbom.cdx.json', 'licenses.txt']) copyFileSync(path.join(folder, part), `${target}.${part}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const sha256 = createHash('sha256').update(readFileSync(target)).digest('hex');
  const sums = `${sha256}  ${name}.tar.gz\n`;
  writeFileSync(sumsOf(target), sums);
  // The signature of an earlier build of this name would be a wrong one.
  rmSync(signatureOf(target), { force: true });
  if (key) writeFileSync(signatureOf(target), signSums(sums, key).signature);
  return { version, platform, file: target, sha256, size: statSync(target).size, signed: key !== undefined };
}

function main(): void {
  const { values } = parseArgs({
    options: {
      platform: { type: 'string', default: `linux-${process.arch}` },
      'release-version': { type: 'string' },
      programs: { type: 'string', default: 'all' },
      'sign-key': { type: 'string' },
      out: { type: 'string', default: path.join(root, 'dist') },
    },
  });
  const known = Object.keys(serverPlatforms) as ServerPlatform[];
  const chosen = known.filter((name) => values.platform === 'all' || values.platform === name);
  if (chosen.length === 0)
    throw new Refusal(`"${values.platform}" is not a platform of the server. Known: ${known.join(', ')}, all.`);
  if (!['all', 'own', 'none'].includes(values.programs))
    throw new Refusal(`--programs must be all, own or none, not "${values.programs}".`);
  if (process.platform !== 'linux')
    throw new Refusal('The archive is built on Linux: the programs in it need a Linux compiler.');
  const { version: ownVersion } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  const version = values['release-version'] ?? ownVersion;
  if (!isSemanticVersion(version)) throw new Refusal(`"${version}" is not a semantic version.`);
  const key = readSignKey(values['sign-key']);
  const web = String(builder('build.ts', '--web').at(-1)?.['web']);
  const agent = String(builder('release.ts', 'agent-bundle', '--release-version', version).at(-1)?.['file']);
  for (const platform of chosen) {
    const made = buildArchive(platform, {
      version,
      which: values.programs,
      web,
      agent,
      key,
      out: path.resolve(values.out),
    });
    process.stdout.write(`${JSON.stringify(made)}\n`);
  }
}

try {
  main();
} catch (error) {
  process.exitCode = error instanceof Refusal ? 2 : 1;
  say(error instanceof Refusal ? error.message : error instanceof Error ? String(error.stack) : String(error));
}
