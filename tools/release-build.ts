// npm run release -- --sign-key FILE [--server-platform linux-x64|linux-arm64|all] [--out FOLDER]
// Builds a release of all products into one folder (default: dist/release-<version>): agents and machine servers of three
// platforms, archives of the management server, both clients; beside each program and archive its SBOM, licenses and sum;
// SHA256SUMS of all files, and its signature by the Ed25519 key of --sign-key (PEM; PLATFORM_RELEASE_PASSPHRASE opens a
// locked one). npm run release:check checks such a folder.
// Prints one JSON line for each product on stdout, and messages for the user on stderr.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { PlatformError } from '@platform/contract/errors/errors';
import { signSums } from '@platform/releases/archive-signature';
import { plainEnvironment } from '../packages/kit/src/node/environment.ts';
import { packPythonClient, packTypescriptClient } from './release/set/clients.ts';
import {
  besideProgram,
  filesOf,
  releasedPrograms,
  archivePlatforms,
  signatureFile,
  sumsFile,
} from './release/set/contents.ts';
import type { ServerPlatform } from './release/server/stage.ts';
import { formatSums, sha256OfFile } from './release/set/sums.ts';
import { releaseVersion, VersionsDiffer } from './release/set/version.ts';

const root = path.resolve(import.meta.dirname, '..');

class Refusal extends Error {}

function runTool(file: string, ...args: readonly string[]): void {
  const passphrase = process.env['PLATFORM_RELEASE_PASSPHRASE'];
  const done = spawnSync(process.execPath, [path.join(root, 'tools', file), ...args], {
    cwd: root,
    env: plainEnvironment({ ...(passphrase !== undefined && { PLATFORM_RELEASE_PASSPHRASE: passphrase }) }),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (done.status !== 0) throw new Refusal(`tools/${file} ${args.join(' ')} ended with ${done.status ?? done.signal}.`);
}

/** Builds into dist/, where unchanged programs stay, and copies. */
function buildPrograms(version: string, out: string): void {
  for (const name of ['platform-agent', 'platform-server']) runTool('release.ts', name, '--platform', 'all');
  for (const { file } of releasedPrograms(version))
    for (const ending of ['', ...besideProgram])
      copyFileSync(path.join(root, 'dist', `${file}${ending}`), path.join(out, `${file}${ending}`));
}

function readKey(name: string | undefined) {
  if (name === undefined)
    throw new Refusal(
      'A release needs --sign-key FILE. To make a key: openssl genpkey -algorithm ed25519 -out sign.pem',
    );
  try {
    const key = { pem: readFileSync(name, 'utf8'), name, passphrase: process.env['PLATFORM_RELEASE_PASSPHRASE'] };
    signSums('', key); // tried before the long build
    return key;
  } catch (error) {
    throw new Refusal(error instanceof PlatformError ? error.message : `--sign-key ${name} cannot be read.`);
  }
}

function chosenServers(given: string): readonly ServerPlatform[] {
  const chosen = archivePlatforms.filter((name) => given === 'all' || given === name);
  if (chosen.length > 0) return chosen;
  throw new Refusal(`"${given}" is not a platform of the server. Known: ${archivePlatforms.join(', ')}, all.`);
}

/** The folder is replaced as a whole, so it must be new, empty, or of an earlier build. */
function replaceableFolder(out: string): string {
  if (!existsSync(out) || existsSync(path.join(out, sumsFile))) return out;
  if (statSync(out).isDirectory() && readdirSync(out).length === 0) return out;
  throw new Refusal(
    `${out} has other files than those of a release, and would be deleted. Name a new folder: --out FOLDER.`,
  );
}

function main(): void {
  const { values } = parseArgs({
    options: {
      'sign-key': { type: 'string' },
      'server-platform': { type: 'string', default: 'all' },
      out: { type: 'string' },
    },
  });
  const key = readKey(values['sign-key']);
  const servers = chosenServers(values['server-platform']);
  const version = releaseVersion(root);
  const out = replaceableFolder(path.resolve(values.out ?? path.join(root, 'dist', `release-${version}`)));
  const fresh = `${out}.building`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  buildPrograms(version, fresh);
  packTypescriptClient(version, fresh);
  packPythonClient(version, fresh);
  for (const platform of servers)
    runTool('server-archive.ts', '--platform', platform, '--sign-key', path.resolve(key.name), '--out', fresh);
  const files = filesOf(version, servers);
  const sums = formatSums(new Map(files.map((file) => [file, sha256OfFile(path.join(fresh, file))])));
  writeFileSync(path.join(fresh, sumsFile), sums);
  writeFileSync(path.join(fresh, signatureFile), signSums(sums, key).signature);
  rmSync(out, { recursive: true, force: true });
  renameSync(fresh, out);
  for (const file of files)
    if (!/\.(json|txt|sha256|sig)$/.test(file))
      process.stdout.write(
        `${JSON.stringify({ file: path.join(out, file), size: statSync(path.join(out, file)).size })}\n`,
      );
}

try {
  main();
} catch (error) {
  const isExpected = error instanceof Refusal || error instanceof VersionsDiffer;
  process.exitCode = isExpected ? 2 : 1;
  process.stderr.write(`${isExpected ? error.message : error instanceof Error ? error.stack : String(error)}\n`);
}
