import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bwrapArguments, type HostLayout, type SandboxPlan } from './bwrap-plan.ts';

const root: HostLayout = {
  bwrap: '/usr/bin/bwrap',
  isRoot: true,
  system: [{ path: '/bin', target: 'usr/bin' }, { path: '/lib' }],
};
const user: HostLayout = { ...root, isRoot: false };
const plan: SandboxPlan = {
  mounts: [
    { from: '/jobs/1/src', to: '/job/src', mode: 'ro' },
    { from: '/jobs/1/out', to: '/job/out', mode: 'rw' },
    { from: '/maybe', to: '/opt/x/y', mode: 'ro', optional: true },
  ],
  cwd: '/job',
  command: ['/usr/bin/python3', '-m', 'model.training'],
  uid: 1_900_000_001,
  network: false,
  gpus: [],
  tmpBytes: 1000,
  rlimits: { processes: 64, fileBytes: 5000 },
};
const text = (host: HostLayout, change: Partial<SandboxPlan> = {}, hasFilter = true): string =>
  bwrapArguments(host, { ...plan, ...change }, hasFilter).join(' ');

const rows: [string, string, RegExp, boolean][] = [
  [
    'namespaces are all new',
    text(root),
    /--unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try --unshare-net/,
    true,
  ],
  ['the network stays where it is allowed', text(root, { network: true }), /unshare-net/, false],
  ['names are resolved where the network is allowed', text(root, { network: true }), /\/etc\/resolv\.conf/, true],
  ['and not elsewhere', text(root), /\/etc\/(resolv\.conf|ssl)/, false],
  ['root has no user namespace', text(root), /--unshare-user/, false],
  [
    'root gives up its rights inside',
    text(root),
    /-- \/usr\/bin\/setpriv --reuid=1900000001 --regid=1900000001 --clear-groups --inh-caps=-all --bounding-set=-all --/,
    true,
  ],
  [
    'root keeps no other right until then',
    text(root),
    /--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID --cap-add CAP_SETPCAP/,
    true,
  ],
  [
    'a user other than root needs a user namespace',
    text(user),
    /--unshare-user --uid 1900000001 --gid 1900000001/,
    true,
  ],
  ['and has no rights to give up', text(user), /setpriv|cap-add/, false],
  ['it dies with the runner', text(user), /--die-with-parent --new-session/, true],
  [
    'system folders as they are',
    text(root),
    /--ro-bind \/usr \/usr --symlink usr\/bin \/bin --ro-bind \/lib \/lib/,
    true,
  ],
  ['inputs are read-only', text(root), /--ro-bind \/jobs\/1\/src \/job\/src/, true],
  ['the output is not', text(root), / --bind \/jobs\/1\/out \/job\/out/, true],
  ['what may be missing', text(root), /--ro-bind-try \/maybe \/opt\/x\/y/, true],
  ['folders on the way can be entered', text(root), /--perms 0755 --dir \/job .*--perms 0755 --dir \/opt\/x /, true],
  [
    '/tmp and /dev/shm have a size',
    text(root),
    /--size 1000 --tmpfs \/dev\/shm --perms 1777 --size 1000 --tmpfs \/tmp/,
    true,
  ],
  ['the root is closed at last', text(root), /\/job\/out .*--remount-ro \/dev --remount-ro \/ /, true],
  [
    'limits are set inside',
    text(user),
    /-- \/usr\/bin\/prlimit --nproc=64 --fsize=5000 --core=0 --nofile=4096 -- \/usr\/bin\/python3 -m/,
    true,
  ],
  [
    'memory of each process where nothing else holds it',
    text(root, { rlimits: { ...plan.rlimits, dataBytes: 7 } }),
    /--data=7/,
    true,
  ],
  ['no GPU unless asked for', text(root), /nvidia/, false],
  [
    'the GPUs that are its own',
    text(root, { gpus: [1, 3] }),
    /nvidia1 .*\/dev\/nvidia3 \/dev\/nvidia3 --dev-bind-try \/dev\/nvidiactl/,
    true,
  ],
  ['the filter', text(root), /--seccomp 4/, true],
  ['no filter for an unknown machine', text(root, {}, false), /--seccomp/, false],
];
for (const [name, given, pattern, wanted] of rows) {
  test(`sandbox: ${name}`, () => assert.equal(pattern.test(given), wanted, given));
}
