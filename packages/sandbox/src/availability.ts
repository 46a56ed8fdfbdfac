/** Whether sandboxes work on this host, now: bubblewrap may be installed, replaced or removed while a runner runs. */
import { stat } from 'node:fs/promises';
import type { Clock } from '@platform/kit';
import { findProgram } from './host.ts';
import { openSandboxes, type Probe } from './probe.ts';

/** What a failure is due to besides bubblewrap, such as a setting of the kernel, may have been mended meanwhile. */
const retryMs = 60_000;

export interface Availability {
  /** Makes a sandbox only when there is a reason to: the first time, with another bubblewrap, a minute after a failure. */
  probe(signal: AbortSignal): Promise<Probe>;
}

/** @param searchPath - as PATH. @param open - makes a sandbox to see whether it works. */
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

/** Identity of the program that would be started; empty when there is none. */
async function identityOf(searchPath: string): Promise<string> {
  const file = await findProgram('bwrap', searchPath);
  const found = file === undefined ? undefined : await stat(file).catch(() => undefined);
  return found ? [file, found.dev, found.ino, found.size, found.mtimeMs, found.mode].join(' ') : '';
}
