import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import path from 'node:path';
import type { Platform } from './platforms.ts';
import type { Fault, Program } from './programs.ts';
import { runtimeFor } from './runtimes.ts';

const root = path.resolve(import.meta.dirname, '..', '..');

export interface Build {
  readonly program: Program;
  readonly version: string;
  readonly platform: Platform;
  readonly fault: Fault | undefined;
}

/** Location of the sources; a test builds from a copy elsewhere. */
export interface Place {
  readonly sources: string;
  /** The compiler: the runtime for this machine's platform. */
  readonly bun: string;
}

/**
 * The build note, which identifies a compiled program without running it. A line end, this text and a line end are
 * the last bytes. (Windows may append a signature.)
 */
const buildNote = ({ program, version, platform }: Build): string =>
  `PLATFORM-PROGRAM:${JSON.stringify({ name: program.name, version, platform: platform.name })}`;

function runBun(bun: string, args: readonly string[], cwd: string, home: string): void {
  // The user's settings and caches must not affect the result.
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, TMPDIR: home };
  const done = spawnSync(bun, args, { cwd, env, encoding: 'utf8' });
  if (done.status === 0) return;
  throw new Error(`bun ${args.join(' ')} ended with ${done.status ?? done.signal}:\n${done.stdout}${done.stderr}`);
}

/**
 * Bundles all modules of a program into one JavaScript file; its bytes do not depend on the folder of the sources.
 *
 * @returns its input files, relative to the folder of the sources.
 */
export function bundle(
  { program, version, fault }: Pick<Build, 'program' | 'version' | 'fault'>,
  { sources, bun }: Place,
  out: string,
  { runtime, format }: { runtime: 'bun' | 'node'; format: 'esm' | 'cjs' },
): string[] {
  const folder = path.dirname(out);
  const args = ['build', `--target=${runtime}`, '--minify', `--format=${format}`];
  for (const file of Object.keys(program.files)) args.push('--external', file);
  if (runtime === 'node') args.push('--external', 'bun:ffi');
  const constants = { PLATFORM_RELEASE_VERSION: version, ...(fault !== undefined && { PLATFORM_TEST_FAULT: fault }) };
  for (const [name, value] of Object.entries(constants)) args.push('--define', `${name}=${JSON.stringify(value)}`);
  args.push(path.join('apps', program.app, program.entry), '--outdir', folder, '--entry-naming', path.basename(out));
  const list = `${out}.inputs.json`;
  runBun(bun, [...args, `--metafile=${list}`], sources, folder);
  const { inputs } = JSON.parse(readFileSync(list, 'utf8')) as { inputs: Readonly<Record<string, unknown>> };
  return Object.keys(inputs);
}

/**
 * Builds one executable file. It bundles first and compiles in an otherwise empty folder, under constant names: the
 * compiler embeds file names, and the build must be reproducible.
 *
 * @returns the input files of its bundle, relative to the folder of the sources.
 */
export function compile(of: Build, place: Place, target: string): string[] {
  const parent = path.dirname(target);
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(path.join(parent, '.build-'));
  try {
    const inputs = bundle(of, place, path.join(folder, 'program.js'), { runtime: 'bun', format: 'esm' });
    for (const [name, file] of Object.entries(of.program.files)) {
      const copy = path.join(folder, 'node_modules', name);
      mkdirSync(path.dirname(copy), { recursive: true });
      copyFileSync(path.join(root, 'node_modules', file), copy);
    }
    const args = ['build', '--compile', '--minify', '--bytecode', '--format=esm'];
    args.push('--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig', '--compile-exec-argv=--use-system-ca');
    args.push(`--target=${of.platform.target}`, `--compile-executable-path=${runtimeFor(of.platform)}`);
    args.push('./program.js', '--outfile', `program${of.platform.suffix}`);
    runBun(place.bun, args, folder, folder);
    const made = path.join(folder, `program${of.platform.suffix}`);
    chmodSync(made, 0o755);
    appendFileSync(made, `\n${buildNote(of)}\n`);
    renameSync(made, target);
    return inputs;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Bundles the program for Node into one module. */
export function bundleForNode(of: Pick<Build, 'program' | 'version' | 'fault'>, place: Place, target: string): void {
  const folder = mkdtempSync(path.join(path.dirname(target), '.build-'));
  try {
    const out = path.join(folder, 'program.mjs');
    bundle(of, place, out, { runtime: 'node', format: 'esm' });
    chmodSync(out, 0o755);
    renameSync(out, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
