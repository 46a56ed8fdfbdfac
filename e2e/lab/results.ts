// Results of the lab: printed at once, and saved for `node e2e/lab/report.ts`, which writes docs/measurements/lab.md.
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { systemClock } from '@platform/kit/node';
import { commitOf, thisHost, today } from '../src/this-host.ts';
import { checkout } from '../src/up-process.ts';

const resultsFile = path.join(checkout, '.cache', 'lab-results.ndjson');

export interface Result {
  /** For example "install by one line". */
  scenario: string;
  /** container, vm */
  where: string;
  seconds: number;
  /** Additional facts as readable text. */
  note: string;
  /** Day, as 2030-01-31. */
  on: string;
  load: number;
  /** The host of the measurement. */
  machine: string;
  /** The checkout that was measured; a plus sign: with changed files. */
  commit: string;
}

/** Saves and prints the figures of one scenario. */
export async function keep(scenario: string, where: string, seconds: number, note = ''): Promise<void> {
  const result: Result = {
    scenario,
    where,
    seconds: Math.round(seconds * 10) / 10,
    note,
    on: today(),
    load: Math.round((os.loadavg()[0] ?? 0) * 10) / 10,
    machine: thisHost(),
    commit: commitOf(checkout),
  };
  process.stdout.write(`# ${scenario} (${where}): ${result.seconds} s${note === '' ? '' : `, ${note}`}\n`);
  await mkdir(path.dirname(resultsFile), { recursive: true });
  await appendFile(resultsFile, `${JSON.stringify(result)}\n`);
}

/** Measures `f`. @returns its seconds and its value. */
export async function timed<T>(f: () => Promise<T>): Promise<{ seconds: number; value: T }> {
  const start = systemClock.now();
  const value = await f();
  return { seconds: (systemClock.now() - start) / 1000, value };
}

/** Returns the newest result of each scenario, ordered by their first occurrence. */
export async function newestResults(): Promise<Result[]> {
  const lines = (await readFile(resultsFile, 'utf8')).trim().split('\n');
  const results = new Map<string, Result>();
  for (const line of lines) {
    const result = { machine: 'unknown host', commit: '', ...(JSON.parse(line) as Omit<Result, 'machine' | 'commit'>) };
    results.set(`${result.where} ${result.scenario}`, result);
  }
  return [...results.values()];
}
