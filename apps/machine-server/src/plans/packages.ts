import type { PackageSpec } from '../machine-config.ts';
import type { InstalledPackage } from './resources.ts';

export interface Have {
  readonly installed: ReadonlyMap<string, InstalledPackage>;
  /** `packageKey` of packages that failed and are in backoff. */
  readonly failed: ReadonlySet<string>;
}

export type Step =
  | { readonly do: 'install'; readonly name: string; readonly id: string; readonly version: string }
  | { readonly do: 'forget'; readonly name: string };

export const packageKey = (of: PackageSpec): string => `${of.name} ${of.id} ${of.version}`;

/**
 * Installs packages whose desired version is missing. The previous version stays linked until the new one is complete.
 */
export function plan(want: readonly PackageSpec[], have: Have): readonly Step[] {
  const steps: Step[] = [];
  for (const name of have.installed.keys()) {
    if (!want.some((spec) => spec.name === name)) steps.push({ do: 'forget', name });
  }
  for (const spec of want) {
    const { name, id, version } = spec;
    const there = have.installed.get(name);
    if ((there?.id === id && there.version === version) || have.failed.has(packageKey(spec))) continue;
    steps.push({ do: 'install', name, id, version });
  }
  return steps;
}
