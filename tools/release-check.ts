// npm run release:check -- --key PUBLIC.pem [FOLDER]
// Checks a release that npm run release built (default: dist/release-<version>): the key signed the sums; no file is missing,
// altered or unknown; each program is what its name, SBOM and sums say; this host's programs and the archive of the
// server say their version; SBOMs name all that they must; the clients have the version.
// Prints one line for each problem, with the name of the file. Exit status 1: there are problems.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { checkArchive } from './release/set/check-archive.ts';
import { checkClients } from './release/set/check-clients.ts';
import { checkProgram } from './release/set/check-program.ts';
import { archiveName, filesOf, releasedPrograms, archivePlatforms, sumsFile } from './release/set/contents.ts';
import { checkSums } from './release/set/sums.ts';
import { releaseVersion } from './release/set/version.ts';

const root = path.resolve(import.meta.dirname, '..');
const say = (text: string): void => void process.stderr.write(`${text}\n`);

function problemsOf(folder: string, publicPem: string, version: string): string[] {
  const sumsPath = path.join(folder, sumsFile);
  if (!existsSync(sumsPath)) return [`${sumsFile} is missing`];
  const list = readFileSync(sumsPath, 'utf8');
  const servers = archivePlatforms.filter((platform) => list.includes(`  ${archiveName(version, platform)}\n`));
  if (servers.length === 0) return [`${sumsFile} names no archive of the server for version ${version}`];
  const sums = checkSums(folder, publicPem, filesOf(version, servers));
  // What the owner of the key did not sign is not run.
  if (sums.length > 0) return sums;
  return [
    ...releasedPrograms(version).flatMap((program) => checkProgram(folder, version, program)),
    ...servers.flatMap((platform) => checkArchive(folder, version, platform, publicPem)),
    ...checkClients(folder, version),
  ];
}

function main(): void {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { key: { type: 'string' } } });
  if (values.key === undefined) {
    process.exitCode = 2;
    return say('usage: npm run release:check -- --key PUBLIC.pem [FOLDER]');
  }
  const version = releaseVersion(root);
  const folder = path.resolve(positionals[0] ?? path.join(root, 'dist', `release-${version}`));
  const problems = problemsOf(folder, readFileSync(values.key, 'utf8'), version);
  for (const problem of problems) process.stdout.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
  say(problems.length === 0 ? `${folder} is a complete release of ${version}.` : `${problems.length} problems.`);
}

main();
