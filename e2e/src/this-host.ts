import { execFileSync } from 'node:child_process';
import os from 'node:os';
import { systemClock } from '@platform/kit/node';

/** Processor, memory, kernel and runtime of this host, for measurements. */
export const thisHost = (): string =>
  `${os.cpus()[0]?.model.trim() ?? 'unknown CPU'}, ${os.cpus().length} cores, ${Math.round(os.totalmem() / 2 ** 30)} GiB, ${os.type()} ${os.release()}, Node ${process.version}`;

/** As 2030-01-31. */
export const today = (): string => new Date(systemClock.wall()).toISOString().slice(0, 10);

/** The commit of a checkout; a plus sign: with changed files. Empty: it has no history. */
export function commitOf(checkout: string): string {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: checkout, encoding: 'utf8' }).trim();
  try {
    const isChanged = git('status', '--porcelain', '--untracked-files=no') !== '';
    return `${git('rev-parse', '--short=8', 'HEAD')}${isChanged ? '+' : ''}`;
  } catch {
    return '';
  }
}
