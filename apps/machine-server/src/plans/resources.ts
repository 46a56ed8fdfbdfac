import type { ResourceSpec } from '../machine-config.ts';

/** A package that is unpacked on this machine. */
export interface InstalledPackage {
  readonly name: string;
  readonly id: string;
  readonly version: string;
  /** Absolute path. */
  readonly folder: string;
}

export interface Want {
  readonly revision: number;
  readonly configSha256: string;
  readonly resources: readonly ResourceSpec[];
  /** By their names in the configuration. */
  readonly packages: ReadonlyMap<string, InstalledPackage>;
}

/** `keyOf` computes the keys. */
export interface Have {
  /** Revision and content of the configuration in effect. */
  readonly revision: number;
  readonly configSha256: string;
  /** Keys of the running resources, by name. */
  readonly running: ReadonlyMap<string, string>;
  /** Keys of resources that failed and are in backoff. */
  readonly failed: ReadonlySet<string>;
}

export type Step =
  | { readonly do: 'stop'; readonly name: string }
  | { readonly do: 'start' | 'replace'; readonly name: string; readonly spec: RunnableSpec }
  | { readonly do: 'settle'; readonly revision: number; readonly configSha256: string };

/** The model version of a file; absent for a file outside any package. */
export interface ModelOrigin {
  readonly model: string;
  readonly version: string;
}

/** A resource with every `${packages.…}` replaced by the folder of an installed package. */
export type RunnableSpec = ResourceSpec & { readonly origin?: ModelOrigin };

/** Specs with equal keys run identically. */
export const keyOf = (spec: RunnableSpec): string => JSON.stringify(spec);

/**
 * Stops resources that are no longer desired, starts new ones, replaces changed ones; then the revision is in effect.
 */
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
  const { revision, configSha256 } = want;
  const isSettled = have.revision === revision && have.configSha256 === configSha256;
  if (steps.length === 0 && !isSettled) steps.push({ do: 'settle', revision, configSha256 });
  return steps;
}

export type Resolved =
  | { readonly ok: true; readonly spec: RunnableSpec }
  | { readonly ok: false; readonly waitsFor: string };

/** Resolves the folders of packages; a resource waits until its package is installed. */
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
