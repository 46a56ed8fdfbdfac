/** What this host can run now: bubblewrap can be installed or removed while the runner runs. */
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
  /** Undefined if training scripts cannot run here. */
  readonly scripts: Scripts | undefined;
  /** Isolation of built-in trainers. */
  readonly isolation: Isolation;
}
/** Probes again where something may have changed; a repeated call without a change is cheap. */
export type CapabilitySource = (signal: AbortSignal) => Promise<Capabilities>;

export interface CapabilityOptions {
  readonly scripts: ScriptOptions;
  /** False if the operator disabled it on this host. */
  readonly trainerSandbox: boolean;
  readonly trainers: Trainers;
  /** Folder of the runner. */
  readonly root: string;
  /** URL of the management server. */
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  /** One attempt needs a sandbox either for scripts or for a trainer, never for both. */
  readonly only?: 'scripts' | 'trainers';
  /** Creates a sandbox to check that sandboxes work. */
  readonly open?: typeof openSandboxes;
}

/** @throws Usage when an option names a file or folder that does not exist. */
export async function watchCapabilities(of: CapabilityOptions): Promise<CapabilitySource> {
  const { root, clock, log, trainers } = of;
  await prepareScripts(of.scripts, root);
  const available = watchSandboxes(process.env['PATH'] ?? '', clock, of.open);
  let isSwept = false;
  const sweep = async ({ sandboxes }: Extract<Probe, { ok: true }>): Promise<void> => {
    // When root creates the sandboxes, their processes run as another user, which must read the job folders.
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
