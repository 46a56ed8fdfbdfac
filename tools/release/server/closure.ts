// The packages that programs need at run time on one platform, read from the lock file. Pure.

/** An entry of `packages` in package-lock.json. */
export interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  /** A workspace: `resolved` is its folder. */
  readonly link?: boolean;
  readonly resolved?: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { optional?: boolean }>>;
}
export type Lock = Readonly<Record<string, LockEntry>>;

/** As npm names it: `--os`, `--cpu`, `--libc`. */
export interface Target {
  readonly os: string;
  readonly cpu: string;
  readonly libc: string;
}

export interface Closure {
  /** Folders of workspaces, sorted. */
  readonly workspaces: readonly string[];
  /** Keys of the lock file that are packages of the registry, sorted. */
  readonly packages: readonly string[];
}

/** The lock's keys under which `from` finds a package, nearest first, as Node resolves it. */
function candidates(from: string, name: string): string[] {
  const found: string[] = [];
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
    if (!at.endsWith('node_modules')) found.push(at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`);
    if (at === '') return found;
  }
}

const isFor = (entry: LockEntry, { os, cpu, libc }: Target): boolean =>
  (entry.os?.includes(os) ?? true) && (entry.cpu?.includes(cpu) ?? true) && (entry.libc?.includes(libc) ?? true);

/**
 * @param starts - folders of workspaces, and names of packages at the root.
 * @throws Error if a dependency that is not optional is missing in the lock.
 */
export function closureOf(lock: Lock, starts: readonly string[], target: Target): Closure {
  const workspaces = new Set<string>();
  const packages = new Set<string>();
  const open = [...starts];
  for (let key = open.pop(); key !== undefined; key = open.pop()) {
    const entry = lock[key];
    if (!entry) throw new Error(`package-lock.json has no entry ${key}`);
    if (entry.link === true) {
      open.push(entry.resolved ?? '');
      continue;
    }
    const isPackage = key.includes('node_modules/');
    const seen = isPackage ? packages : workspaces;
    if (seen.has(key)) continue;
    seen.add(key);
    for (const { name, isOptional } of dependenciesOf(entry)) {
      const location = candidates(key, name).find((one) => lock[one] !== undefined);
      const isFit = location !== undefined && isFor(lock[location] ?? {}, target);
      if (location !== undefined && isFit) open.push(location);
      else if (!isOptional)
        throw new Error(`${key} needs ${name}, which package-lock.json lacks for ${target.os} ${target.cpu}`);
    }
  }
  return { workspaces: [...workspaces].toSorted(), packages: [...packages].toSorted() };
}

function dependenciesOf(entry: LockEntry): { name: string; isOptional: boolean }[] {
  const optional = Object.keys(entry.optionalDependencies ?? {});
  const needed = Object.keys(entry.dependencies ?? {}).filter((name) => !optional.includes(name));
  const peers = Object.keys(entry.peerDependencies ?? {}).filter(
    (name) => entry.peerDependenciesMeta?.[name]?.optional !== true,
  );
  return [
    ...[...needed, ...peers].map((name) => ({ name, isOptional: false })),
    ...optional.map((name) => ({ name, isOptional: true })),
  ];
}
