/** Whether sandboxes work on this host now: bubblewrap can be installed, replaced or removed while a runner runs. */
import { stat } from 'node:fs/promises';
import type { Clock } from '@platform/kit';
import { findProgram } from './host.ts';
import { openSandboxes, type Probe } from './probe.ts';

/** A failure may have another cause, such as a kernel setting, which the operator may have fixed meanwhile. */
const retryMs = 60_000;

export interface Availability {
  /** Creates a sandbox only on the first call, after bubblewrap changed, and a minute after a failure. */
  probe(signal: AbortSignal): Promise<Probe>;
}

/** @param searchPath - as PATH. @param open - creates a sandbox to check that sandboxes work. */
export function watchSandboxes(
  searchPath: string,
  clock: Clock,
  open: typeof openSandboxes = openSandboxes,
): Availability {
  let last: { readonly probe: Probe; readonly program: string; readonly at: number } | undefined;
  return {
    probe: async (signal) => {
      const program = await identityOf(searchPath);
      const isFresh = last?.program === program && (last.probe.ok || clock.now() - last.at < retryMs);
      if (last && isFresh) return last.probe;
      const probe = await open(searchPath, clock, signal);
      last = { probe, program, at: clock.now() };
      return probe;
    },
  };
}

/** Identity of the bubblewrap in the search path; empty if there is none. */
async function identityOf(searchPath: string): Promise<string> {
  const file = await findProgram('bwrap', searchPath);
  const stats = file === undefined ? undefined : await stat(file).catch(() => undefined);
  return stats ? [file, stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.mode].join(' ') : '';
}
