/** Determines at the start whether training scripts can run here, and with which Pythons. */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Clock, Log } from '@platform/kit';
import { Usage } from '@platform/kit/node';
import { sweepEnvironments } from '@platform/sandbox/build';
import { findEnvironments, type Environment } from '@platform/sandbox/environments';
import type { Probe } from '@platform/sandbox/probe';
import type { Sandboxes } from '@platform/sandbox/sandbox';
import type { RunnerCapabilities } from '../local-capabilities.ts';
import type { ScriptOptions } from './script-options.ts';

/** What the runner needs to run scripts. */
export interface Scripts {
  readonly sandboxes: Sandboxes;
  /** At least one; the first one is the default. */
  readonly environments: readonly Environment[];
  readonly options: ScriptOptions;
  /** URL of the management server, for scripts that call it. */
  readonly url: string;
  /** Folder of installed packages. */
  readonly cache: string;
  /** Prefix of the names of all sandboxes of this runner. */
  readonly prefix: string;
}
export type Opened = { readonly scripts: Scripts } | { readonly because: string };

/** Call it once, before scripts run. Throws Usage when an option names a folder that does not exist. */
export async function prepareScripts(options: ScriptOptions, root: string): Promise<void> {
  if (!options.enabled) return;
  await checkReadable('--wheelhouse', options.wheelhouse);
  await checkReadable('--script-weights', options.weights);
  await sweepEnvironments(environmentsIn(root));
}
const environmentsIn = (root: string): string => path.join(root, 'environments');

/** Finds the Pythons that start in these sandboxes. */
export async function openScripts(
  options: ScriptOptions,
  probe: Probe,
  { root, url, clock, log }: { root: string; url: string; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<Opened> {
  const without = (because: string): Opened => {
    log.warn('training scripts do not run here', { because });
    return { because };
  };
  if (!options.enabled) return without('Training scripts are switched off on this runner (--no-scripts).');
  if (!probe.ok) return without(probe.because);
  const { sandboxes } = probe;
  const { environments, problems } = await findEnvironments(sandboxes, options.pythons, process.env, clock, signal);
  for (const problem of problems) log.warn('a Python for training scripts cannot be used', { problem });
  if (environments.length === 0) {
    return without(
      `Training scripts cannot run here: ${problems.join('; ')}. Install python3 or name one with --script-python.`,
    );
  }
  const keys = environments.map(({ key }) => key);
  log.info('training scripts run in a sandbox', { limits: sandboxes.limiter.kind, containers: keys.join(', ') });
  const [cache, prefix] = [environmentsIn(root), sandboxPrefix(root)];
  return { scripts: { sandboxes, environments, options, url, cache, prefix } };
}

/** Prefix of the sandbox names of the runner with this folder. */
export const sandboxPrefix = (root: string): string => createHash('sha256').update(root).digest('hex').slice(0, 10);

async function checkReadable(option: string, folder: string | undefined): Promise<void> {
  if (folder === undefined) return;
  const stats = await stat(folder).catch(() => undefined);
  if (!stats?.isDirectory()) throw new Usage(`The folder ${folder} of ${option} is not there.`, 2);
  if (process.getuid?.() === 0 && (stats.mode & 0o005) !== 0o005) {
    throw new Usage(`The folder ${folder} of ${option} must be readable for everybody: chmod o+rx ${folder}.`, 2);
  }
}

/** Adds scripts to the capabilities, or the reason why they are missing. */
export function withScripts(offer: RunnerCapabilities, opened: Opened): RunnerCapabilities {
  if ('because' in opened) return { ...offer, noScriptsBecause: opened.because };
  const containers = opened.scripts.environments.map(({ key, python, framework, description, endOfLife }) => ({
    key,
    uri: `host:${python}`,
    framework,
    description,
    endOfLife,
  }));
  return { ...offer, kinds: [...offer.kinds, 'custom'], containers };
}
