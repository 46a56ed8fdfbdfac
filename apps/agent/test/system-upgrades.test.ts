// Automatic upgrades: which repositories, which files, which package managers, and what the owner gets back.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { Cell } from '@platform/kit';
import type { FakeClock } from '@platform/kit/testing';
import { removeAll } from '../src/install/remove.ts';
import { taskOf } from '../src/os/linux/apt/package-unit.ts';
import { differenceOf, originsFile, periodicFile } from '../src/system/apt-files.ts';
import { settlePackageFiles } from '../src/system/package-files.ts';
import { installedPackages } from '../src/system/installed-packages.ts';
import { readPolicy, selectOrigins } from '../src/system/apt-policy.ts';
import { unfinishedPackages } from '../src/system/run-packages.ts';
import { holderOf } from '../src/system/package-locks.ts';
import { aptMachine, owners, recordedPolicy as recorded } from './apt-machine.ts';
import { systemGoal } from './system-machine.ts';

const debian = (codename: string): [string[], string[]] => [
  [`origin=Debian,codename=${codename}-security`],
  ['', '-security', '-updates'].map((suite) => `origin=Debian,codename=${codename}${suite}`),
];
const ubuntu = (n: string): [string[], string[]] => [
  [`origin=Ubuntu,codename=${n},archive=${n}-security`, `origin=UbuntuESM,codename=${n},archive=${n}-infra-security`],
  [
    ...['', '-backports', '-security', '-updates'].map((suite) => `origin=Ubuntu,codename=${n},archive=${n}${suite}`),
    `origin=UbuntuESM,codename=${n},archive=${n}-infra-security`,
  ],
];
const releases: [name: string, expected: [security: string[], all: string[]]][] = [
  ['debian-11', debian('bullseye')],
  ['debian-12', debian('bookworm')],
  ['debian-13', debian('trixie')],
  ['ubuntu-22.04', ubuntu('jammy')],
  ['ubuntu-24.04', ubuntu('noble')],
];
for (const [name, [security, all]] of releases)
  test(`repositories of ${name}: security alone, and all`, () => {
    assert.deepEqual(selectOrigins('security', readPolicy(recorded(name))), security);
    assert.deepEqual(selectOrigins('all', readPolicy(recorded(name))), all);
  });

/** @param release - fields of a Release file as apt prints them */
const repository = (release: string, site = 'packages.example', priority = 500): string =>
  ` ${priority} https://packages.example/apt stable/main amd64 Packages\n     release ${release}\n     origin ${site}\n`;
const vendors: [name: string, policy: string, all: string[]][] = [
  [
    'a vendor',
    repository('o=Acme Corp,a=acme,n=acme,l=Acme Corp,c=main'),
    ['origin=Acme Corp,codename=acme,archive=acme'],
  ],
  ['without codename', repository('o=Acme,a=stable,l=Acme,c=main'), ['origin=Acme,archive=stable']],
  ['without a Release file', repository('c='), ['site=packages.example']],
  ['an origin alone', repository('o=Acme,c=main'), ['origin=Acme,site=packages.example']],
  ['a comma in a name', repository('o=Acme, Inc.,n=acme,c=main'), ['origin=Acme? Inc.,codename=acme']],
  [
    'quotes and shell patterns in a name',
    repository('o=A";}; APT::x "*[${y},n=n=m,c=main'),
    ['origin=A???? APT::x ?????y?,codename=n?m'],
  ],
  ['a repository that apt must not use', repository('o=Acme,n=acme,c=main', 'packages.example', -10), []],
  ['nothing that names it', ' 500 file:/srv/repo ./ Packages\n     release c=\n', []],
  [
    'a local folder with a Release file',
    ' 500 file:/srv x/main amd64 Packages\n     release o=L,n=x\n',
    ['origin=L,codename=x'],
  ],
];
for (const [name, policy, all] of vendors)
  test(`repository: ${name}`, () => assert.deepEqual(selectOrigins('all', readPolicy(policy)), all));

const security = ['origin=Debian,codename=bookworm-security'];
const dumped = (...lines: string[]) => lines.map((line) => `${line};`).join('\n');
const on = 'APT::Periodic::Unattended-Upgrade "1"';
const listed = (origin: string) => `Unattended-Upgrade::Origins-Pattern:: "${origin}"`;
const effects: [name: string, type: 'security' | 'disable', dump: string, difference: RegExp][] = [
  ['as desired', 'security', dumped(on, 'Unattended-Upgrade::Origins-Pattern ""', listed(security[0]!)), /^$/],
  ['a later file adds an origin', 'security', dumped(on, listed(security[0]!), listed('origin=X')), /adds "origin=X"/],
  ['the older list', 'security', dumped(on, 'Unattended-Upgrade::Allowed-Origins:: "X:y"'), /adds "X:y"/],
  ['switched off elsewhere', 'security', dumped(listed(security[0]!)), /Unattended-Upgrade is "0"/],
  ['a later file clears the list', 'security', dumped(on), /is not in effect/],
  ['disabled', 'disable', dumped('APT::Periodic::Unattended-Upgrade "0"', listed('origin=X')), /^$/],
  ['not disabled', 'disable', dumped(on), /is "1"/],
];
for (const [name, type, dump, difference] of effects)
  test(`effective configuration of apt: ${name}`, () => assert.match(differenceOf(type, security, dump), difference));

test('the holder of a lock, and not who waits for it', () => {
  const line = (n: number, pid: number, inode: number, kind = 'POSIX  ADVISORY  WRITE') =>
    `${n}: ${kind} ${pid} fe:01:${inode} 0 EOF`;
  const locks = [line(1, 7, 11, 'FLOCK  ADVISORY  WRITE'), '2: -> POSIX  ADVISORY  WRITE 8 fe:01:11 0 EOF'];
  assert.equal(holderOf([...locks, line(3, 9, 12), line(4, 10, 11)].join('\n'), [11]), 10);
  assert.equal(holderOf(locks.join('\n'), [11, -1]), undefined);
});

const shown = (
  active: string,
  sub: string,
  status: number,
  load = 'loaded',
  name = 'Platform packages: update',
): string => `LoadState=${load}\nActiveState=${active}\nSubState=${sub}\nExecMainStatus=${status}\nDescription=${name}`;
const units: [string, object][] = [
  [shown('active', 'running', 0), { is: 'running', name: 'update' }],
  [shown('active', 'exited', 0), { is: 'ended', name: 'update', code: 0 }],
  [shown('failed', 'failed', 100), { is: 'ended', name: 'update', code: 100 }],
  [shown('failed', 'failed', 0), { is: 'ended', name: 'update', code: 1 }],
  [shown('inactive', 'dead', 0, 'not-found', 'platform-packages.service'), { is: 'none' }],
];
for (const [text, task] of units)
  test(`unit of the package manager: ${JSON.stringify(task)}`, () => assert.deepEqual(taskOf(text), task));

test('security: lists updated, unattended-upgrades installed, its files replaced; the second time nothing runs', async () => {
  await using at = await aptMachine();
  await at.apply(systemGoal({ upgradeType: 'security' }));
  assert.deepEqual(at.packages.started, ['update the package lists', 'install unattended-upgrades']);
  assert.match((await at.read(originsFile)) ?? '', /\{\n {2}"origin=Debian,codename=bookworm-security";\n\};/);
  assert.match((await at.read(periodicFile)) ?? '', /Unattended-Upgrade "1"/);
  await at.apply(systemGoal({ upgradeType: 'security' }));
  assert.equal(at.packages.started.length, 2);
});

test("the owner's configuration comes back by an empty value, by disabling, and by uninstalling", async () => {
  for (const way of ['empty', 'disabled', 'uninstalled']) {
    await using at = await aptMachine();
    for (const [file, text] of Object.entries(owners)) await at.put(file, text);
    await at.apply(systemGoal({ upgradeType: 'all' }));
    assert.notEqual(await at.read(originsFile), owners[originsFile]);
    await at.apply(systemGoal({ upgradeType: 'security' }));
    await at.apply(systemGoal({ upgradeType: 'disable' }));
    assert.equal(await at.read(originsFile), owners[originsFile], 'disable needs the switch alone');
    assert.match((await at.read(periodicFile)) ?? '', /Unattended-Upgrade "0"/);
    const removal = { root: at.root, credentialsFile: undefined, usesSystemd: false, sayGoodbye: async () => false };
    if (way === 'uninstalled') {
      const { programs, disk } = at.parts();
      const packages = () => installedPackages(disk, programs);
      const { leftPackages } = await removeAll({ ...removal, packages }, programs);
      assert.deepEqual(leftPackages, ['unattended-upgrades'], 'it says what stays');
    } else await at.apply(systemGoal(way === 'empty' ? {} : undefined));
    for (const [file, text] of Object.entries(owners)) assert.equal(await at.read(file), text, way);
  }
});

test('what the package left beside the files of the agent goes with them; its list of origins comes into use', async () => {
  for (const way of ['empty', 'uninstalled']) {
    await using at = await aptMachine();
    const install = at.packages.next;
    at.packages.next = async (name) => {
      for (const file of [originsFile, periodicFile]) await at.put(`${file}.ucf-dist`, `of the package: ${file}`);
      return install(name);
    };
    await at.apply(systemGoal({ upgradeType: 'security' }));
    const { programs, disk } = at.parts();
    if (way === 'empty') await at.apply(systemGoal({}));
    else {
      const settlePackages = () => settlePackageFiles({ disk, programs, prefix: at.parts().prefix });
      const removal = { root: at.root, credentialsFile: undefined, usesSystemd: false, sayGoodbye: async () => false };
      await removeAll({ ...removal, settlePackages }, programs);
    }
    assert.equal(await at.read(originsFile), `of the package: ${originsFile}`, way);
    for (const file of [periodicFile, `${originsFile}.ucf-dist`, `${periodicFile}.ucf-dist`])
      assert.equal(await at.read(file), undefined, `${way}: ${file}`);
    await at.put(`${originsFile}.ucf-dist`, 'of a later upgrade');
    if (way === 'empty') await at.apply(systemGoal({}));
    assert.equal(await at.read(`${originsFile}.ucf-dist`), 'of a later upgrade', 'not of this agent');
  }
});

test('security without a security repository: nothing is written, and the error says so; then it appears', async () => {
  await using at = await aptMachine(repository('o=Acme,n=acme,c=main'));
  const goal = systemGoal({ upgradeType: 'security' });
  await assert.rejects(
    at.apply(goal),
    (error) => error instanceof PlatformError && error.code === 'OS_UPGRADES_NO_ORIGIN',
  );
  assert.deepEqual([await at.read(originsFile), await at.read(periodicFile)], [undefined, undefined]);
  at.world.policy = recorded('ubuntu-22.04');
  await at.apply(goal);
  assert.match((await at.read(originsFile)) ?? '', /archive=jammy-security/);
});

test('from all to security without a security repository: all is over', async () => {
  await using at = await aptMachine(repository('o=Acme,n=acme,c=main'));
  await at.put(originsFile, owners[originsFile]);
  await at.apply(systemGoal({ upgradeType: 'all' }));
  await assert.rejects(at.apply(systemGoal({ upgradeType: 'security' })), /matches/);
  assert.deepEqual([await at.read(originsFile), await at.read(periodicFile)], [owners[originsFile], undefined]);
});

test('repositories are those at the moment of the setting; a later one is named, and included by setting it again', async () => {
  await using at = await aptMachine();
  await at.apply(systemGoal({ upgradeType: 'all' }));
  const before = await at.read(originsFile);
  at.world.policy += repository('o=Acme,n=acme,c=main');
  await at.apply(systemGoal({ upgradeType: 'all' }));
  assert.equal(await at.read(originsFile), before);
  assert.deepEqual(at.codes(), ['OS_REPOSITORIES_NOT_INCLUDED']);
  assert.match(at.conditions.get()[0]?.message ?? '', /origin=Acme,codename=acme/);
  await at.apply(systemGoal({}));
  assert.deepEqual(at.codes(), []);
  await at.apply(systemGoal({ upgradeType: 'all' }));
  assert.match((await at.read(originsFile)) ?? '', /origin=Acme/);
  assert.deepEqual(at.codes(), []);
});

test('a system without apt is one error; nothing is written', async () => {
  await using at = await aptMachine();
  at.world.hasApt = false;
  await assert.rejects(at.apply(systemGoal({ upgradeType: 'all' })), /no apt/);
  assert.equal(await at.read(periodicFile), undefined);
  assert.deepEqual(at.packages.started, []);
});

test('a package manager that fails: its last lines, and the next attempt goes on', async () => {
  await using at = await aptMachine();
  const lines = ['Reading package lists...', "E: You don't have enough free space in /var/cache/apt/archives/."];
  at.packages.next = async (name) => ({ code: name.startsWith('install') ? 100 : 0, lines });
  await assert.rejects(
    at.apply(systemGoal({ upgradeType: 'security' })),
    /install unattended-upgrades.*enough free space/,
  );
  at.packages.next = async () => {
    at.world.isInstalled = true;
    return { code: 0 };
  };
  await at.apply(systemGoal({ upgradeType: 'security' }));
  assert.deepEqual(at.packages.started.slice(1), ['install unattended-upgrades', 'install unattended-upgrades']);
});

test('another file of apt, or a timer that is off, is an error that names it', async () => {
  await using at = await aptMachine();
  await at.put('/etc/apt/apt.conf.d/52local', 'Unattended-Upgrade::Origins-Pattern {\n  "origin=Mine";\n};\n');
  await assert.rejects(at.apply(systemGoal({ upgradeType: 'security' })), /another file adds "origin=Mine"/);
  await at.remove('/etc/apt/apt.conf.d/52local');
  at.world.timer = 'inactive';
  await assert.rejects(at.apply(systemGoal({ upgradeType: 'security' })), /apt-daily.timer is inactive/);
  await at.apply(systemGoal({ upgradeType: 'disable' }));
});

/** Passes time until the work is done; its files are real, so their calls need turns of the event loop. */
async function untilDone(clock: FakeClock, work: Promise<void>): Promise<void> {
  const isDone = new Cell(false);
  const done = work.finally(() => isDone.set(true));
  while (!isDone.get()) {
    await clock.advance(5_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await done;
}

test('a held lock waits, and the condition names who holds it', async () => {
  await using at = await aptMachine();
  const { ino } = statSync(path.join(at.prefix, 'var/lib/dpkg/lock-frontend'));
  await at.put('/proc/locks', `1: POSIX  ADVISORY  WRITE 4242 fe:01:${ino} 0 EOF\n`);
  await at.put('/proc/4242/comm', 'synaptic\n');
  const applied = at.apply(systemGoal({ upgradeType: 'security' }));
  while (at.codes().length === 0) await at.conditions.changed(AbortSignal.timeout(10_000));
  assert.match(at.conditions.get()[0]?.message ?? '', /waits for synaptic \(process 4242\)/);
  assert.deepEqual(at.packages.started, []);
  await at.put('/proc/locks', '');
  await untilDone(at.clock, applied);
  assert.deepEqual(at.codes(), []);
  assert.equal(at.packages.started.length, 2);
});

test('an interrupted dpkg is named in the log before its repair', async () => {
  await using at = await aptMachine();
  const entry = (name: string, state: string): string =>
    `Package: ${name}\nStatus: install ok ${state}\nVersion: 1.0\n`;
  const packages = ['installed', 'half-configured', 'unpacked', 'config-files', 'triggers-pending', 'half-installed'];
  const text = packages.map((state) => entry(`is-${state}`, state)).join('\n');
  assert.deepEqual(unfinishedPackages(text), [
    'is-half-configured',
    'is-unpacked',
    'is-triggers-pending',
    'is-half-installed',
  ]);
  assert.deepEqual(unfinishedPackages(''), []);
  await at.put('/var/lib/dpkg/status', text);
  await at.apply(systemGoal({ upgradeType: 'security' }));
  const lines = at.logged().filter((line) => line.includes('dpkg was interrupted'));
  assert.equal(lines.length, 2, 'before each task');
  assert.match(lines[0] ?? '', /is-half-configured is-unpacked is-triggers-pending is-half-installed/);
});

test('an agent that starts while the task of an earlier one runs waits for it, and does not start it again', async () => {
  await using at = await aptMachine();
  at.packages.task = { is: 'running', name: 'update the package lists' };
  const applied = at.apply(systemGoal({ upgradeType: 'security' }));
  for (let turn = 0; turn < 20; turn++) await at.clock.advance(5_000);
  assert.deepEqual([await at.read(originsFile), at.packages.started], [undefined, []]);
  at.packages.end(0);
  await untilDone(at.clock, applied);
  assert.deepEqual(at.packages.started, ['install unattended-upgrades']);
});

test('before the configuration is known, what an earlier one asked for stays', async () => {
  await using at = await aptMachine();
  await at.apply(systemGoal({ upgradeType: 'security' }));
  const before = await at.read(originsFile);
  await at.apply(systemGoal(undefined, true));
  await at.apply(systemGoal({ upgradeType: 'all' }, true));
  assert.equal(await at.read(originsFile), before);
});
