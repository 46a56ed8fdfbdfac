import { assertNever } from '@platform/kit';
import type { Cell, Log, Reconciler } from '@platform/kit';
import type { Attempts } from '../attempts.ts';
import type { MachineConfig, ResourceSpec } from '../machine-config.ts';
import { keyOf, plan, resolve } from '../plans/resources.ts';
import type { Have, InstalledPackage, RunnableSpec, Step, Want } from '../plans/resources.ts';
import type { Resource } from './resource.ts';
import type { RunningResources } from './running.ts';

/** Progress of the machine with its configuration. */
export interface Progress {
  /** Revision in effect, 0: none yet. */
  readonly revision: number;
  /** SHA-256 of it as it was saved, hex; empty: none, or not known. */
  readonly configSha256: string;
  /** A resource is currently being started, replaced or stopped. */
  readonly isChanging: boolean;
}

interface Deps {
  readonly running: RunningResources;
  readonly start: (spec: RunnableSpec) => Promise<Resource>;
  readonly attempts: Attempts;
  readonly progress: Cell<Progress>;
  readonly log: Log;
}

/** Runs the desired resources. If a resource cannot start, its previous form and all other resources keep running. */
export function resourceReconciler({ running, start, attempts, progress, log }: Deps): Reconciler<Want, Have, Step> {
  const change = async (work: () => Promise<void>) => {
    progress.update((p) => ({ ...p, isChanging: true }));
    try {
      await work();
    } finally {
      progress.update((p) => ({ ...p, isChanging: false }));
    }
  };
  const begin = async (name: string, spec: RunnableSpec) => {
    const key = keyOf(spec);
    try {
      await running.put(name, key, await start(spec));
      attempts.succeeded(key);
    } catch (error) {
      attempts.failed(key, error);
      log.error('resource does not start', { name, is: spec.is, error });
    }
  };
  return {
    name: 'resources',
    recheckMs: 2000,
    observe: async () => ({
      revision: progress.get().revision,
      configSha256: progress.get().configSha256,
      running: running.keys(),
      failed: attempts.resting(),
    }),
    plan,
    apply: async (step) => {
      switch (step.do) {
        case 'stop':
          return change(() => running.stop(step.name));
        case 'start':
        case 'replace':
          return change(() => begin(step.name, step.spec));
        case 'settle':
          return progress.update((p) => ({ ...p, revision: step.revision, configSha256: step.configSha256 }));
        default:
          return assertNever(step);
      }
    },
  };
}

/** Derives `goal` from the configuration and the installed packages. */
export async function followGoal(
  from: { config: Cell<MachineConfig>; installed: Cell<ReadonlyMap<string, InstalledPackage>> },
  goal: Cell<Want>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const { revision, configSha256, resources } = from.config.get();
    goal.set({ revision, configSha256, resources, packages: from.installed.get() });
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener('abort', end, { once: true });
    await Promise.race([from.config.changed(over.signal), from.installed.changed(over.signal)]);
    signal.removeEventListener('abort', end);
    end();
  }
}

/** Status of a configured resource, for users. */
export interface ResourceStatus {
  readonly name: string;
  readonly is: ResourceSpec['is'];
  readonly state: 'running' | 'waiting' | 'failed';
  /** What it waits for or why it failed; with state `running`: why its newer form could not replace it. */
  readonly problem?: string;
  /** Version of the running model, which may be older than the desired one. */
  readonly version?: string;
}

export function resourceStatus(want: Want, running: RunningResources, attempts: Attempts): readonly ResourceStatus[] {
  const keys = running.keys();
  return want.resources.map((spec) => {
    const { name, is } = spec;
    const resolved = resolve(spec, want.packages);
    const runningKey = keys.get(name);
    const version = running.find('model', name)?.model.origin.version;
    const about = { name, is, ...(version !== undefined && { version }) };
    if (!resolved.ok) return { ...about, state: 'waiting', problem: `package "${resolved.waitsFor}" is not there yet` };
    const key = keyOf(resolved.spec);
    const problem = attempts.problem(key);
    if (runningKey === key) return { ...about, state: 'running' };
    if (runningKey !== undefined) return { ...about, state: 'running', ...(problem !== undefined && { problem }) };
    return problem === undefined ? { ...about, state: 'waiting' } : { ...about, state: 'failed', problem };
  });
}
