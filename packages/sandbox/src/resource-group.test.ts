import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { cgroup1Limiter, cgroup2Limiter, systemdLimiter } from './resource-group.ts';
import { cgroupPlaces } from './resource-limiters.ts';

const limits = { memoryBytes: 2 ** 28, processes: 64, cpus: 1.5 };

const mounts1 = [
  '31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755',
  '32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct',
  '33 31 0:30 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
  '34 31 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids',
  '35 31 0:32 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd',
].join('\n');
const places: [string, string, string, string[]][] = [
  [
    'version 1: one tree per controller; in a container the mount begins below the root',
    mounts1,
    '4:memory:/docker/abc/inner\n8:pids:/\n2:cpu,cpuacct:/x\n9:name=systemd:/\n',
    [
      '1 cpu,cpuacct /sys/fs/cgroup/cpu,cpuacct/x',
      '1 memory /sys/fs/cgroup/memory/inner',
      '1 pids /sys/fs/cgroup/pids',
      '1 name=systemd /sys/fs/cgroup/systemd',
    ],
  ],
  [
    'version 2: one tree for all',
    '30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate',
    '0::/user.slice/user@1000.service/run\n',
    ['2  /sys/fs/cgroup/user.slice/user@1000.service/run'],
  ],
  ['none', '30 23 0:26 / / rw - ext4 /dev/vda rw', '', []],
];
for (const [name, mountinfo, cgroup, wanted] of places) {
  test(`our places in the trees of control groups: ${name}`, () => {
    const found = cgroupPlaces(mountinfo, cgroup).map(
      (one) => `${one.version} ${one.controllers.join(',')} ${one.folder}`,
    );
    assert.deepEqual(found, wanted);
  });
}

test('version 1: limits are written before anything enters, usage is read', async () => {
  await using folder = await tempFolder();
  const at = { memory: folder.file('memory'), pids: folder.file('pids'), cpu: folder.file('cpu') };
  for (const one of Object.values(at)) await mkdir(one);
  const enclosure = await cgroup1Limiter(at).open('job-1', limits);
  const written = await Promise.all(
    [
      'memory/platform-job-1/memory.limit_in_bytes',
      'pids/platform-job-1/pids.max',
      'cpu/platform-job-1/cpu.cfs_quota_us',
    ].map((name) => readFile(folder.file(name), 'utf8')),
  );
  assert.deepEqual(written, ['268435456', '64', '150000']);
  assert.deepEqual(
    enclosure.entrances.map((file) => file.slice(folder.path.length)),
    ['/memory/platform-job-1/cgroup.procs', '/pids/platform-job-1/cgroup.procs', '/cpu/platform-job-1/cgroup.procs'],
  );
  await writeFile(folder.file('memory/platform-job-1/memory.max_usage_in_bytes'), '1234\n');
  await writeFile(
    folder.file('memory/platform-job-1/memory.oom_control'),
    'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n',
  );
  assert.deepEqual(await enclosure.usage(1), { memoryBytes: 1234, oomKills: 3 });
});

test('version 2: limits of memory, swap, processes and processor time', async () => {
  await using folder = await tempFolder();
  const enclosure = await cgroup2Limiter(folder.path).open('job-1', limits);
  const group = folder.file('platform-job-1');
  const names = ['cpu.max', 'memory.max', 'memory.swap.max', 'pids.max'];
  assert.deepEqual((await readdir(group)).toSorted(), names);
  const written = await Promise.all(names.map((name) => readFile(`${group}/${name}`, 'utf8')));
  assert.deepEqual(written, ['150000 100000', '268435456', '0', '64']);
  await writeFile(`${group}/memory.current`, '77\n');
  await writeFile(`${group}/memory.events`, 'low 0\nmax 4\noom 1\noom_kill 1\noom_group_kill 0\n');
  assert.deepEqual(await enclosure.usage(1), { memoryBytes: 77, oomKills: 1 });
});

test('version 2: a group that cannot be made throws and leaves nothing', async () => {
  await using folder = await tempFolder();
  await writeFile(folder.file('no-folder'), '');
  await assert.rejects(cgroup2Limiter(folder.file('no-folder')).open('job-1', limits), /ENOTDIR/);
});

test('systemd: a scope of the system, or of the user', async () => {
  const asRoot = await systemdLimiter('/usr/bin/systemd-run', undefined, '/sys/fs/cgroup').open('job-1', limits);
  assert.deepEqual(asRoot.prefix, [
    '/usr/bin/systemd-run',
    '--quiet',
    '--scope',
    '--collect',
    '--unit=platform-job-1',
    '--property=MemoryMax=268435456',
    '--property=MemorySwapMax=0',
    '--property=TasksMax=64',
    '--property=CPUQuota=150%',
    '--',
  ]);
  const asUser = await systemdLimiter('/usr/bin/systemd-run', '/run/user/1000', '/sys/fs/cgroup').open('job-1', limits);
  assert.deepEqual(asUser.prefix.slice(0, 4), [
    '/usr/bin/env',
    'XDG_RUNTIME_DIR=/run/user/1000',
    '/usr/bin/systemd-run',
    '--user',
  ]);
  assert.deepEqual(asUser.prefix.slice(-4), ['--', '/usr/bin/env', '-u', 'XDG_RUNTIME_DIR']);
  assert.equal(await asUser.usage(process.pid), undefined, 'we are in no such scope');
});
