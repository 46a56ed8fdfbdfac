/** The command line of a sandbox, as data: what is seen inside, and from where. */

export interface Mount {
  /** On this computer. */
  readonly from: string;
  /** In the sandbox. */
  readonly to: string;
  readonly mode: 'ro' | 'rw';
  /** Left out when it does not exist. */
  readonly optional?: boolean;
}
/** How this computer is laid out, and what it lets us do. */
export interface HostLayout {
  readonly bwrap: string;
  /** Root makes the sandbox and gives up its rights inside; others need user namespaces. */
  readonly isRoot: boolean;
  /** `/bin`, `/lib` …: links into /usr with their target, or folders of their own. */
  readonly system: readonly { readonly path: string; readonly target?: string }[];
}
export interface SandboxPlan {
  readonly mounts: readonly Mount[];
  /** In the sandbox. */
  readonly cwd: string;
  readonly command: readonly string[];
  /** User and group inside; where root makes the sandbox, outside as well. */
  readonly uid: number;
  readonly network: boolean;
  /** Numbers of those that may be seen. */
  readonly gpus: readonly number[];
  readonly tmpBytes: number;
  /** Of the inner process and each of its children. */
  readonly rlimits: {
    readonly processes: number;
    readonly fileBytes: number;
    /** Only where nothing else limits memory. */
    readonly dataBytes?: number;
  };
}

/** Descriptors that the launcher opens: the status comes out of one, the filter goes into the other. */
export const descriptors = { status: 3, filter: 4 } as const;
export const home = '/tmp/home';

/** What programs look for in /etc; nothing of it is secret. */
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

/** Arguments for bubblewrap, without its name. `hasFilter`: a seccomp program stands ready. */
export function bwrapArguments(host: HostLayout, plan: SandboxPlan, hasFilter: boolean): string[] {
  return [
    ...namespaces(host, plan),
    ...ancestorsOf(['/etc/_', '/sys/devices/system/_']).flatMap((path) => ['--perms', '0755', '--dir', path]),
    ...fileSystem(host, plan),
    // Folders that are made on the way belong to the maker alone unless they are named.
    ...ancestorsOf(plan.mounts.map(({ to }) => to)).flatMap((path) => ['--perms', '0755', '--dir', path]),
    ...plan.mounts.flatMap(({ from, to, mode, optional }) => [
      `--${mode === 'ro' ? 'ro-' : ''}bind${optional ? '-try' : ''}`,
      from,
      to,
    ]),
    // Whatever was needed to place the mounts is there now.
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

/** Parents of the paths, the upper ones first; not the root, and nothing below the system's own folders. */
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
      ? // Rights to become another user, which the inner command drops with them.
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
    // It would be limited by nothing but the memory of this computer.
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
    // Inside, where the number of processes is counted for this sandbox alone.
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
