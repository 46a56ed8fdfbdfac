/** Runs a training script on its author's host, in the same sandbox and with the same command line as a runner. */
import { copyFile, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { parseObject } from '@platform/contract/text/json-object';
import type { Clock } from '@platform/kit';
import { readText } from '@platform/kit/node';
import { packScriptFolder, unpackScriptArchive } from './archive.ts';
import { prepareEnvironment, type PackageSources } from './build.ts';
import { findEnvironments, parsePythons, type Environment } from './environments.ts';
import { openSandboxes } from './probe.ts';
import { removeTree } from './removal.ts';
import { resultFiles } from './result-files.ts';
import type { Sandboxes } from './sandbox.ts';
import { describeFailure, describeRun, gpusFor, runScript, type ScriptRun } from './script.ts';

export interface LocalTest {
  /** Folder of the script: setup.py or pyproject.toml, and model/training.py. */
  readonly folder: string;
  /** Folder of the dataset; the script sees it read-only. */
  readonly datasetRoot: string;
  /** Relative to the root; default `dataset.jsonl`. */
  readonly datasetFile?: string;
  /** Name of the environment, such as `py:3.11`; default: the first one. */
  readonly container?: string;
  readonly args: Readonly<Record<string, string>>;
  /** Folder of the result; created if missing. */
  readonly out: string;
  /** As `--script-python` of a runner: `py:3.11=/usr/bin/python3,…`. Default: the python3 of PATH. */
  readonly pythons?: string;
  /** Default: no network, as on a runner. */
  readonly network?: boolean;
  readonly sources?: PackageSources;
  readonly memoryMib?: number;
  readonly diskMib?: number;
  readonly gpus?: number;
  /** Grace period after an abort. */
  readonly graceMs?: number;
  /** Folder where installed packages are cached for the next test. */
  readonly cache: string;
  readonly env: Record<string, string | undefined>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** `about`: messages of this program, not of the script. */
  onLine(stream: 'out' | 'err' | 'about', line: string): void;
}
export interface LocalResult {
  /** Relative to `out`. */
  readonly files: readonly string[];
  /** Name of the environment used. */
  readonly container: string;
  /** It was stopped before it finished. */
  readonly stopped: boolean;
}

const argumentForm = /^[A-Za-z0-9_-]+$/;
const inside = { root: '/job/dataset', file: '/job/dataset.jsonl' } as const;

/**
 * Runs the script once.
 *
 * @throws PlatformError INVALID_ARGUMENT, SCRIPT_ARCHIVE_INVALID, SANDBOX_UNAVAILABLE, SCRIPT_BUILD_FAILED,
 *   SCRIPT_PACKAGES_MISSING, SCRIPT_MODULE_MISSING, SCRIPT_FAILED, SCRIPT_DISK_LIMIT, OUT_OF_MEMORY.
 */
export async function runTestLocal(test: LocalTest): Promise<LocalResult> {
  const { clock, signal, out } = test;
  const dataset = await checkDataset(test);
  for (const key of Object.keys(test.args)) {
    if (!argumentForm.test(key)) throw invalid('args', `"${key}" may have letters, digits, _ and - only`);
  }
  const archive = await packScriptFolder(test.folder);
  const probe = await openSandboxes(test.env['PATH'] ?? '', clock, signal);
  if (!probe.ok) throw new PlatformError('SANDBOX_UNAVAILABLE', { problem: probe.because });
  const environment = await chosen(test, probe.sandboxes);
  await mkdir(out, { recursive: true });
  const folder = await mkdtemp(path.join(tmpdir(), 'platform-test-local-'));
  try {
    const source = path.join(folder, 'src');
    await unpackScriptArchive([archive], source);
    const file = path.join(folder, 'dataset.jsonl');
    await writeFile(file, await datasetInside(test, dataset), { mode: 0o644 });
    const result = path.join(folder, 'out');
    const checkpoints = path.join(folder, 'checkpoints');
    for (const made of [result, checkpoints]) await mkdir(made);
    const run = await runOf(test, {
      sandboxes: probe.sandboxes,
      environment,
      folder,
      source,
      file,
      result,
      checkpoints,
    });
    test.onLine('about', describeRun(run));
    const ended = await runScript(run, signal);
    if (ended.end.is === 'stopped') return { files: [], container: environment.key, stopped: true };
    const failure = await describeFailure(ended, run);
    if (failure) throw new LocalFailure(failure.code, failure.message);
    return { files: await takeResult(test, result), container: environment.key, stopped: false };
  } catch (error) {
    if (!signal.aborted) throw error;
    return { files: [], container: environment.key, stopped: true };
  } finally {
    await removeTree(folder);
  }
}

/** Its message is complete: reason, remedy and the last lines of the script. */
export class LocalFailure extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.name = 'LocalFailure';
    this.code = code;
  }
}

const invalid = (field: string, limit: string): PlatformError =>
  new PlatformError('INVALID_ARGUMENT', { field, limit });

async function checkDataset({ datasetRoot, datasetFile = 'dataset.jsonl' }: LocalTest): Promise<string> {
  const isFolder = (await stat(datasetRoot).catch(() => undefined))?.isDirectory() === true;
  if (!isFolder) throw invalid('dataset-root', `there is no folder ${datasetRoot}`);
  const relative = path.normalize(datasetFile);
  if (path.isAbsolute(datasetFile) || relative === '..' || relative.startsWith(`..${path.sep}`)) {
    throw invalid('dataset-file', `${datasetFile} must be relative to the dataset root and lie in it`);
  }
  const file = path.join(datasetRoot, relative);
  if ((await stat(file).catch(() => undefined))?.isFile() !== true) {
    throw invalid('dataset-file', `there is no file ${file}; dataset export makes one`);
  }
  return file;
}

/**
 * Rewrites the dataset lines with paths inside the sandbox. Paths of an export start with the folder that it was
 * written to.
 */
async function datasetInside({ datasetRoot, onLine }: LocalTest, file: string): Promise<string> {
  const root = path.resolve(datasetRoot);
  const lines: string[] = [];
  let missing = 0;
  for (const [index, text] of (await readText(file)).split('\n').entries()) {
    if (text.trim() === '') continue;
    const line = parseObject(text);
    const image = line?.['image_path'];
    if (!line || typeof image !== 'string')
      throw invalid(`line ${index + 1} of the dataset file`, 'it is not a JSON object with image_path');
    const found = await foundIn(root, image);
    if (found === undefined) missing++;
    lines.push(JSON.stringify({ ...line, image_path: found ?? image }));
  }
  if (lines.length === 0) throw invalid('dataset-file', 'it has no line');
  if (missing > 0) onLine('about', `${missing} of ${lines.length} images are not in ${datasetRoot}.`);
  return `${lines.join('\n')}\n`;
}

/** Resolves an image path that is relative to the root, relative to the working directory, or absolute. */
async function foundIn(root: string, image: string): Promise<string | undefined> {
  for (const file of [path.resolve(root, image), path.resolve(image)]) {
    const relative = path.relative(root, file);
    if (relative.startsWith('..') || path.isAbsolute(relative)) continue;
    if (await stat(file).catch(() => undefined))
      return path.posix.join(inside.root, relative.split(path.sep).join('/'));
  }
  return undefined;
}

async function chosen(test: LocalTest, sandboxes: Sandboxes): Promise<Environment> {
  const { pythons, container, env, clock, signal, onLine } = test;
  const { environments, problems } = await findEnvironments(sandboxes, parsePythons(pythons ?? ''), env, clock, signal);
  for (const problem of problems) onLine('about', problem);
  const [first] = environments;
  if (!first) throw new PlatformError('SANDBOX_UNAVAILABLE', { problem: problems.join('; ') });
  const named = environments.find(({ key }) => key === container);
  if (container === undefined || named) return named ?? first;
  const known = environments.map(({ key }) => key).join(', ');
  onLine(
    'about',
    `This host has no container ${container} (it has ${known}); the script runs with ${first.key}, ${first.description}.`,
  );
  return first;
}

interface Parts {
  readonly sandboxes: Sandboxes;
  readonly environment: Environment;
  readonly folder: string;
  readonly source: string;
  readonly file: string;
  readonly result: string;
  readonly checkpoints: string;
}
async function runOf(
  test: LocalTest,
  { sandboxes, environment, folder, source, file, result, checkpoints }: Parts,
): Promise<ScriptRun> {
  const { clock, signal, graceMs = 10_000, onLine } = test;
  const common = {
    sandboxes,
    environment,
    source,
    name: path.basename(folder).replace(/[^A-Za-z0-9-]/g, '-'),
    limits: {
      memoryBytes: (test.memoryMib ?? 8192) * 2 ** 20,
      diskBytes: (test.diskMib ?? 2048) * 2 ** 20,
      processes: 512,
      cpus: availableParallelism(),
    },
    graceMs,
    clock,
    onLine,
  };
  const packages = await prepareEnvironment(
    {
      ...common,
      sourceId: undefined,
      cache: test.cache,
      folder: path.join(folder, 'build'),
      sources: test.sources ?? {},
    },
    signal,
  );
  return {
    ...common,
    folder: path.join(folder, 'run'),
    packages,
    dataset: {
      mounts: [
        { from: path.resolve(test.datasetRoot), to: inside.root, mode: 'ro' },
        { from: file, to: inside.file, mode: 'ro' },
      ],
      file: inside.file,
    },
    out: result,
    scratch: path.join(folder, 'scratch'),
    checkpoints,
    arguments: test.args,
    env: {},
    nice: 0,
    weights: undefined,
    network: test.network ?? false,
    gpus: gpusFor(test.gpus ?? 0, test.env['CUDA_VISIBLE_DEVICES']),
  };
}

async function takeResult({ out, onLine }: LocalTest, result: string): Promise<readonly string[]> {
  const { paths, leftOut } = await resultFiles(result);
  for (const line of leftOut) onLine('about', line);
  if (paths.length === 0) throw new PlatformError('SCRIPT_FAILED', { problem: 'it left no file in its output folder' });
  for (const name of paths) {
    const target = path.join(out, name);
    await mkdir(path.dirname(target), { recursive: true });
    await rm(target, { force: true });
    await copyFile(path.join(result, name), target);
  }
  return paths;
}
