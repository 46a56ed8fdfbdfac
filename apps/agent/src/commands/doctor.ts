import path from 'node:path';
import { createLog } from '@platform/kit';
import { stderrSink } from '@platform/kit/node';
import { observe } from '../doctor/observe.ts';
import { checkResults, worstOf, type CheckResult } from '../doctor/checks.ts';
import { system } from '../composition/system.ts';
import type { Io } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { wrapped } from './terminal-text.ts';

const marks: Readonly<Record<CheckResult['at'], string>> = { ok: 'ok', note: 'note', warning: 'WARN', failed: 'FAIL' };
const standardWidth = 80;

export async function doctor(given: { config: string; root: string; json: boolean }, io: Io): Promise<number> {
  const { clock, env } = io;
  const log = createLog({ name: 'doctor', clock, level: 'error', sink: stderrSink('text') });
  const places = { root: path.resolve(given.root), credentialsFile: path.resolve(given.config), env };
  const results = checkResults(await observe(places, { system, clock, log }));
  const worst = worstOf(results);
  if (given.json) io.out(JSON.stringify({ worst, checks: results }, null, 2));
  else io.out(resultText(results, io.columns ?? standardWidth));
  return worst === 'failed' ? exitCodes.failed : exitCodes.done;
}

function resultText(results: readonly CheckResult[], width: number): string {
  const label = Math.max(...results.map(({ name }) => name.length)) + 2;
  const left = 6 + label;
  return results
    .flatMap(({ name, at, says, remedy }) => [
      ...wrapped(says, width - left).map(
        (line, i) => (i === 0 ? marks[at].padEnd(6) + name.padEnd(label) : ' '.repeat(left)) + line,
      ),
      ...(remedy === ''
        ? []
        : wrapped(remedy, width - left - 2).map((line, i) => ' '.repeat(left) + (i === 0 ? '> ' : '  ') + line)),
    ])
    .join('\n');
}
