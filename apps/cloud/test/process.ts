import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { systemClock } from '@platform/kit/node';

const main = path.resolve(import.meta.dirname, '..', 'src', 'main.ts');

export type ReadyLine = {
  ready: true;
  url: string;
  org_id: string;
  api_key_id: string;
  api_key: string;
  runner_key_id: string;
  runner_key: string;
  sign_in_url: string;
  data_dir: string;
  database: 'embedded' | 'external';
};

/** Combines the line that the server prints with its credentials file. @param root - of the server's file system. */
export function readyOf(line: string, root = ''): ReadyLine {
  const ready = JSON.parse(line) as ReadyLine & { credentials_file: string };
  return { ...ready, ...(JSON.parse(readFileSync(`${root}${ready.credentials_file}`, 'utf8')) as object) };
}

/** The real program as a child process. */
export type CloudProcess = {
  child: ChildProcess;
  pid: number;
  /** The line on stdout; undefined if the process ended without one. */
  ready: Promise<ReadyLine | undefined>;
  exit: Promise<number | NodeJS.Signals | null>;
  stderr(): string;
};

/** Longer than a server and its database take to stop. */
const stopMs = 15_000;

/** Ends the child at the latest after the tests of this file: a live child keeps the process of a failed test alive. */
export function endedWithTests(child: ChildProcess): void {
  const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    const waited = new AbortController();
    await Promise.race([exit, systemClock.sleep(stopMs, waited.signal)]);
    waited.abort();
    child.kill('SIGKILL');
    await exit;
  });
}

export function cloudProcess(dataFolder: string, argv: readonly string[] = []): CloudProcess {
  const child = spawn(process.execPath, [main, '--data-dir', dataFolder, '--port', '0', ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] },
  });
  endedWithTests(child);
  const chunks: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  const lines = createInterface({ input: child.stdout });
  const exit = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals | null);
  const ready = new Promise<ReadyLine | undefined>((resolve) => {
    lines.once('line', (line) => resolve(readyOf(line)));
    lines.once('close', () => resolve(undefined));
  });
  return { child, pid: child.pid ?? 0, ready, exit, stderr: () => Buffer.concat(chunks).toString() };
}
