/** Builds the command line of a sandbox: its mounts, namespaces and limits. */

export interface Mount {
  /** Path on this host. */
  readonly from: string;
  /** Path in the sandbox. */
  readonly to: string;
  readonly mode: 'ro' | 'rw';
  /** Skip the mount if the path does not exist. */
  readonly optional?: boolean;
}
/** System folders and privileges of this host. */
export interface HostLayout {
  readonly bwrap: string;
  /** Root creates the sandbox and drops its privileges inside; other users need user namespaces. */
  readonly isRoot: boolean;
  /** `/bin`, `/lib` …: links into /usr with their target, or separate folders. */
  readonly system: readonly { readonly path: string; readonly target?: string }[];
}
export interface SandboxPlan {
  readonly mounts: readonly Mount[];
  /** Path in the sandbox. */
  readonly cwd: string;
  readonly command: readonly string[];
  /** User and group inside; if root creates the sandbox, outside as well. */
  readonly uid: number;
  readonly network: boolean;
  /** Numbers of the visible GPUs. */
  readonly gpus: readonly number[];
  readonly tmpBytes: number;
  /** Limits of the inner process and each of its children. */
  readonly rlimits: {
    readonly processes: number;
    readonly fileBytes: number;
    /** Set only where no group limits memory. */
    readonly dataBytes?: number;
  };
}

/**
 * File descriptors that the launcher opens: bubblewrap writes its status to one and reads the filter from the other.
 */
export const descriptors = { status: 3, filter: 4 } as const;
export const home = '/tmp/home';

/** Files that programs need in /etc; they contain no secrets. */
const settings = ['alternatives', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'localtime', 'mime.types', 'fonts'];
const networkSettings = [
  'resolv.conf',
  'hosts',
  'nsswitch.conf',
  'ssl',
  'ca-certificates',
  'pki',
  'services',
  'protocols',
];
const gpuDevices = ['nvidiactl', 'nvidia-uvm', 'nvidia-uvm-tools', 'nvidia-modeset', 'nvidia-caps'];

/** Arguments for bubblewrap, without the program name. `hasFilter`: pass a seccomp filter. */
export function bwrapArguments(host: HostLayout, plan: SandboxPlan, hasFilter: boolean): string[] {
  return [
    ...namespaces(host, plan),
    ...ancestorsOf(['/etc/_', '/sys/devices/system/_']).flatMap((path) => ['--perms', '0755', '--dir', path]),
    ...fileSystem(host, plan),
    // bubblewrap makes implicit parent folders private to their creator unless they are listed.
    ...ancestorsOf(plan.mounts.map(({ to }) => to)).flatMap((path) => ['--perms', '0755', '--dir', path]),
    ...plan.mounts.flatMap(({ from, to, mode, optional }) => [
      `--${mode === 'ro' ? 'ro-' : ''}bind${optional ? '-try' : ''}`,
      from,
      to,
    ]),
    // All mount points exist now, so these folders can become read-only.
    ...['/dev', '/'].flatMap((path) => ['--remount-ro', path]),
    '--chdir',
    plan.cwd,
    '--json-status-fd',
    String(descriptors.status),
    ...(hasFilter ? ['--seccomp', String(descriptors.filter)] : []),
    '--',
    ...innerCommand(host, plan),
  ];
}

/** Parents of the paths, upper ones first; excludes the root and /usr, /proc and /dev. */
function ancestorsOf(paths: readonly string[]): string[] {
  const found = new Set<string>();
  for (const path of paths) {
    const parts = path.split('/').slice(1, -1);
    if (/^(usr|proc|dev)$/.test(parts[0] ?? '')) continue;
    for (const at of parts.keys()) found.add(`/${parts.slice(0, at + 1).join('/')}`);
  }
  return [...found];
}

function namespaces({ isRoot }: HostLayout, { uid, network }: SandboxPlan): string[] {
  return [
    ...['ipc', 'pid', 'uts', 'cgroup-try', ...(network ? [] : ['net'])].map((name) => `--unshare-${name}`),
    ...(isRoot
      ? // Capabilities for switching to another user; the inner command drops them.
        ['--cap-drop', 'ALL', ...['SETUID', 'SETGID', 'SETPCAP'].flatMap((name) => ['--cap-add', `CAP_${name}`])]
      : ['--unshare-user', '--uid', String(uid), '--gid', String(uid)]),
    '--die-with-parent',
    '--new-session',
    '--hostname',
    'sandbox',
  ];
}

function fileSystem({ system }: HostLayout, { network, gpus, tmpBytes }: SandboxPlan): string[] {
  const readOnly = (path: string): string[] => ['--ro-bind-try', path, path];
  const space = (path: string): string[] => ['--perms', '1777', '--size', String(tmpBytes), '--tmpfs', path];
  return [
    '--ro-bind',
    '/usr',
    '/usr',
    ...system.flatMap(({ path, target }) =>
      target === undefined ? ['--ro-bind', path, path] : ['--symlink', target, path],
    ),
    ...[...settings, ...(network ? networkSettings : [])].flatMap((name) => readOnly(`/etc/${name}`)),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    // Without a size, only the memory of this host would limit it.
    ...space('/dev/shm'),
    ...space('/tmp'),
    '--perms',
    '0777',
    '--dir',
    home,
    ...readOnly(gpus.length > 0 ? '/sys' : '/sys/devices/system/cpu'),
    ...(gpus.length > 0
      ? [...gpus.map((number) => `nvidia${number}`), ...gpuDevices].flatMap((name) => [
          '--dev-bind-try',
          `/dev/${name}`,
          `/dev/${name}`,
        ])
      : []),
  ];
}

function innerCommand({ isRoot }: HostLayout, { uid, rlimits, command }: SandboxPlan): string[] {
  const { processes, fileBytes, dataBytes } = rlimits;
  return [
    ...(isRoot
      ? [
          '/usr/bin/setpriv',
          `--reuid=${uid}`,
          `--regid=${uid}`,
          '--clear-groups',
          '--inh-caps=-all',
          '--bounding-set=-all',
          '--',
        ]
      : []),
    // It runs inside, where the process count covers only this sandbox.
    '/usr/bin/prlimit',
    `--nproc=${processes}`,
    `--fsize=${fileBytes}`,
    '--core=0',
    '--nofile=4096',
    ...(dataBytes === undefined ? [] : [`--data=${dataBytes}`]),
    '--',
    ...command,
  ];
}
