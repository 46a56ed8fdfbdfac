/** What this host can run, now: bubblewrap may come and go while the runner runs. */
import type { Clock, Log } from '@platform/kit';
import { watchSandboxes } from '@platform/sandbox/availability';
import type { openSandboxes, Probe } from '@platform/sandbox/probe';
import { localCapabilities, type RunnerCapabilities } from './local-capabilities.ts';
import { openScripts, prepareScripts, sandboxPrefix, withScripts, type Scripts } from './script/open-scripts.ts';
import type { ScriptOptions } from './script/script-options.ts';
import type { Trainers } from './trainer/command.ts';
import { openTrainerSandbox, type Isolation } from './trainer/trainer-sandbox.ts';
import { version } from './version.ts';

export interface Capabilities {
  readonly offer: RunnerCapabilities;
  /** Undefined: training scripts do not run here. */
  readonly scripts: Scripts | undefined;
  /** Isolation of built-in trainers. */
  readonly isolation: Isolation;
}
/** Looks again where something may have changed, which costs little where nothing has. */
export type CapabilitySource = (signal: AbortSignal) => Promise<Capabilities>;

export interface CapabilityOptions {
  readonly scripts: ScriptOptions;
  /** False: not wanted on this host. */
  readonly trainerSandbox: boolean;
  readonly trainers: Trainers;
  /** Folder of the runner. */
  readonly root: string;
  /** URL of the management server. */
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  /** One attempt needs a sandbox for scripts or for a trainer, not for both. */
  readonly only?: 'scripts' | 'trainers';
  /** Makes a sandbox to see whether it works. */
  readonly open?: typeof openSandboxes;
}

/** Throws Usage when an option names something that is not there. */
export async function watchCapabilities(of: CapabilityOptions): Promise<CapabilitySource> {
  const { root, clock, log, trainers } = of;
  await prepareScripts(of.scripts, root);
  const available = watchSandboxes(process.env['PATH'] ?? '', clock, of.open);
  let isSwept = false;
  const sweep = async ({ sandboxes }: Extract<Probe, { ok: true }>): Promise<void> => {
    // Where root makes the sandboxes, what runs in them is another user, who has to read what lies in job folders.
    if (sandboxes.host.isRoot) process.umask(0o022);
    if (isSwept) return;
    isSwept = true;
    const swept = await sandboxes.limiter.sweep(sandboxPrefix(root));
    if (swept > 0) log.warn('sandboxes of an earlier runner were removed', { count: swept });
  };
  let last: { readonly probe: Probe; readonly found: Capabilities } | undefined;
  return async (signal) => {
    const probe = await available.probe(signal);
    if (last?.probe === probe) return last.found;
    if (probe.ok) await sweep(probe);
    const opened = of.only === 'trainers' ? { because: '' } : await openScripts(of.scripts, probe, of, signal);
    const isolation = of.only === 'scripts' ? { because: '' } : await isolate(of, probe, signal);
    const found: Capabilities = {
      offer: withScripts(localCapabilities(trainers, version), opened),
      scripts: 'scripts' in opened ? opened.scripts : undefined,
      isolation,
    };
    last = { probe, found };
    return found;
  };
}

function isolate(of: CapabilityOptions, probe: Probe, signal: AbortSignal): Promise<Isolation> {
  if (of.trainerSandbox) return openTrainerSandbox(probe, sandboxPrefix(of.root), of, signal);
  return Promise.resolve({ because: 'It is switched off on this runner (--no-trainer-sandbox).' });
}
