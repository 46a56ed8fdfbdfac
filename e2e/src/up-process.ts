import path from 'node:path';
import { chmod, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { plainEnvironment, type ProcessGroup, spawnGroup } from '@platform/kit/node';
import { tempFolder, type TempFolder } from '@platform/kit/testing';

export const checkout = path.resolve(import.meta.dirname, '../..');
const cli = path.join(checkout, 'apps', 'cli', 'src', 'main.ts');

export interface UpProcess {
  readonly group: ProcessGroup;
  /** The one JSON line on stdout, as soon as it arrives; undefined if the process ended without one. */
  readonly answer: Promise<Record<string, unknown> | undefined>;
  /** All output for users, after the process has ended. */
  readonly stderr: Promise<string>;
}

/** `npm -s start -- …args --json`, without npm in between, and without releases for other platforms. */
export const startUp = (dataDir: string, ...args: string[]): Promise<UpProcess> =>
  startUpForAll(dataDir, '--own-platform-only', ...args);

/** `npm -s start -- …args --json`, without npm in between. */
export async function startUpForAll(dataDir: string, ...args: string[]): Promise<UpProcess> {
  const group = await spawnGroup({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', cli, 'up', '--data-dir', dataDir, '--port', '0', '--json', ...args],
    env: plainEnvironment(),
    cwd: checkout,
  });
  const { stdout, stderr } = group;
  if (!stdout || !stderr) throw new Error('the output of `up` was not piped');
  const answer = new Promise<Record<string, unknown> | undefined>((resolve) => {
    const lines = createInterface({ input: stdout });
    lines.once('line', (line) => resolve(JSON.parse(line) as Record<string, unknown>));
    lines.once('close', () => resolve(undefined));
  });
  return { group, answer, stderr: text(stderr) };
}

/** Runs the command line. @returns its exit code and its output. */
export async function runCli(
  env: Record<string, string>,
  ...args: string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const group = await spawnGroup({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', cli, ...args],
    env: plainEnvironment(env),
    cwd: checkout,
  });
  const [stdout, stderr, { code }] = await Promise.all([
    group.stdout ? text(group.stdout) : '',
    group.stderr ? text(group.stderr) : '',
    group.exited,
  ]);
  return { code, stdout, stderr };
}

export interface StoryEvent {
  readonly at: number;
  readonly what: string;
}

/** The event log of a data folder. */
export async function storyEvents(dataDir: string): Promise<StoryEvent[]> {
  const lines = await readFile(path.join(dataDir, 'story.ndjson'), 'utf8').catch(() => '');
  return lines
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as StoryEvent);
}

/** A data folder that other accounts may traverse: if root starts it, database and machine run under other accounts. */
export async function dataFolder(): Promise<TempFolder> {
  const folder = await tempFolder();
  await chmod(folder.path, 0o755);
  return folder;
}
