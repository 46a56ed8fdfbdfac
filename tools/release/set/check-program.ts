import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs';
import path from 'node:path';
import { parseVersionLine } from '@platform/contract/machine-server/machine-server';
import { checkSbom } from '@platform/releases/sbom';
import { hostPlatform } from '../platforms.ts';
import { programs } from '../programs.ts';
import type { ReleasedProgram } from './contents.ts';
import { sha256OfFile } from './sums.ts';

const root = path.resolve(import.meta.dirname, '..', '..', '..');

/** @returns the problems, each with the name of the file. */
export function checkProgram(folder: string, version: string, program: ReleasedProgram): string[] {
  const { name, platform, file } = program;
  const at = path.join(folder, file);
  const sha256 = sha256OfFile(at);
  const problems: string[] = [];
  const note = `\nPLATFORM-PROGRAM:${JSON.stringify({ name, version, platform })}\n`;
  if (!endOf(at, note.length).equals(Buffer.from(note))) problems.push(`${file} does not end with its build note`);
  const about = JSON.parse(readFileSync(`${at}.json`, 'utf8')) as Record<string, unknown>;
  if (about['sha256'] !== sha256 || about['version'] !== version || about['platform'] !== platform)
    problems.push(`${file}.json describes another program`);
  if (readFileSync(`${at}.sha256`, 'utf8') !== `${sha256}  ${file}\n`)
    problems.push(`${file}.sha256 is of another file`);
  problems.push(
    ...sbomProblems(at, { name, version, platform, sha256 }).map((problem) => `${file}.sbom.cdx.json: ${problem}`),
  );
  if (hostPlatform()?.name === platform) {
    const printed = printedVersion(folder, file);
    const found = parseVersionLine(printed);
    if (found?.version !== version || found.binaryName !== name)
      problems.push(`${file} --version prints "${printed.slice(0, 80)}", not ${version}`);
  }
  return problems;
}

/** What a copy of the program prints: a download has lost the right to be executed. */
function printedVersion(folder: string, file: string): string {
  const work = mkdtempSync(path.join(path.dirname(folder), '.check-'));
  try {
    const copy = path.join(work, file);
    copyFileSync(path.join(folder, file), copy);
    chmodSync(copy, 0o755);
    const { error, stdout } = spawnSync(copy, ['--version'], { encoding: 'utf8', env: {} });
    return error?.message ?? stdout.trim();
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function endOf(file: string, length: number): Buffer {
  const descriptor = openSync(file, 'r');
  try {
    const end = Buffer.alloc(length);
    readSync(descriptor, end, 0, length, fstatSync(descriptor).size - length);
    return end;
  } finally {
    closeSync(descriptor);
  }
}

interface Listed {
  readonly name: string;
  readonly group?: string;
  readonly purl?: string;
  readonly licenses?: readonly unknown[];
}

/** The SBOM must describe these bytes, and name each package that the program's package.json names, each embedded file and the runtime. */
function sbomProblems(at: string, of: { name: string; version: string; platform: string; sha256: string }): string[] {
  const bytes = readFileSync(`${at}.sbom.cdx.json`);
  try {
    checkSbom(bytes, of);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  const { components } = JSON.parse(bytes.toString('utf8')) as { components: readonly Listed[] };
  const program = programs[of.name as keyof typeof programs];
  const { dependencies } = JSON.parse(readFileSync(path.join(root, 'apps', program.app, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>;
  };
  const urls = components.map(({ purl = '' }) => decodeURIComponent(purl));
  const packages = Object.entries(dependencies).filter(([name]) => !name.startsWith('@platform/'));
  return [
    ...packages
      .filter(([name, version]) => !urls.includes(`pkg:npm/${name}@${version}`))
      .map(([name]) => `it lacks ${name}`),
    ...Object.values<string>(program.files)
      .filter((file) => !components.some(({ name }) => name === path.basename(file)))
      .map((file) => `it lacks the embedded file ${file}`),
    ...(urls.some((url) => url.startsWith('pkg:npm/@oven/bun-')) ? [] : ['it lacks the runtime']),
    ...components.filter(({ licenses = [] }) => licenses.length === 0).map(({ name }) => `${name} has no license`),
  ];
}
