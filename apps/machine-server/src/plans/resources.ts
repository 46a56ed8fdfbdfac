import type { ResourceSpec } from '../machine-config.ts';

/** A package that lies unpacked on this machine. */
export interface InstalledPackage {
  readonly name: string;
  readonly id: string;
  readonly version: string;
  /** Absolute path. */
  readonly folder: string;
}

export interface Want {
  readonly revision: number;
  readonly resources: readonly ResourceSpec[];
  /** By the names that the configuration gives them. */
  readonly packages: ReadonlyMap<string, InstalledPackage>;
}

/** Keys are made by `keyOf`. */
export interface Have {
  /** Revision of the configuration in effect. */
  readonly revision: number;
  /** Keys of what runs, by name. */
  readonly running: ReadonlyMap<string, string>;
  /** Keys of what was tried, failed, and is not to be tried again yet. */
  readonly failed: ReadonlySet<string>;
}

export type Step =
  | { readonly do: 'stop'; readonly name: string }
  | { readonly do: 'start' | 'replace'; readonly name: string; readonly spec: RunnableSpec }
  | { readonly do: 'settle'; readonly revision: number };

/** What a model was made of; absent for a model file outside of any package. */
export interface ModelOrigin {
  readonly model: string;
  readonly version: string;
}

/** A resource with every `${packages.…}` replaced by the folder of a package that is there. */
export type RunnableSpec = ResourceSpec & { readonly origin?: ModelOrigin };

/** Two specs with the same key are the same to run. */
export const keyOf = (spec: RunnableSpec): string => JSON.stringify(spec);

/** Stops what is no longer wanted, starts what is new, replaces what changed; then the revision is in effect. */
export function plan(want: Want, have: Have): readonly Step[] {
  const wanted = new Map<string, RunnableSpec>();
  for (const spec of want.resources) {
    const resolved = resolve(spec, want.packages);
    if (resolved.ok) wanted.set(spec.name, resolved.spec);
  }
  const steps: Step[] = [];
  for (const name of have.running.keys()) if (!wanted.has(name)) steps.push({ do: 'stop', name });
  for (const [name, spec] of wanted) {
    const key = keyOf(spec);
    const running = have.running.get(name);
    if (running === key || have.failed.has(key)) continue;
    steps.push({ do: running === undefined ? 'start' : 'replace', name, spec });
  }
  if (steps.length === 0 && have.revision !== want.revision) steps.push({ do: 'settle', revision: want.revision });
  return steps;
}

export type Resolved =
  | { readonly ok: true; readonly spec: RunnableSpec }
  | { readonly ok: false; readonly waitsFor: string };

/** Fills in the folders of packages; a resource whose package is not there yet waits for it. */
export function resolve(spec: ResourceSpec, packages: Want['packages']): Resolved {
  if (spec.is !== 'model') return { ok: true, spec };
  const used: InstalledPackage[] = [];
  const missing: string[] = [];
  const fill = (text: string): string =>
    text.replaceAll(/\$\{packages\.(?:ml_model\.)?([A-Za-z0-9_-]+)\}/g, (all, name: string) => {
      const found = packages.get(name);
      if (found === undefined) missing.push(name);
      else used.push(found);
      return found?.folder ?? all;
    });
  const filled = { ...spec, modelPath: fill(spec.modelPath), labelPath: fill(spec.labelPath) };
  if (missing[0] !== undefined) return { ok: false, waitsFor: missing[0] };
  const from = used[0];
  if (from === undefined) return { ok: true, spec: filled };
  return { ok: true, spec: { ...filled, origin: { model: from.id.split('/').at(-1) ?? '', version: from.version } } };
}
