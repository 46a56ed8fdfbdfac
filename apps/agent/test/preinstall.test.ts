// The agent in the mounted root file system of a device that is not running.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { lstat, mkdir, readFile, readdir, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { programTargetPath } from '@platform/contract/releases/target-path';
import { createLog } from '@platform/kit';
import { FakeClock, tempFolder, type TempFolder } from '@platform/kit/testing';
import { installerList } from '@platform/releases/installer-list';
import { firstRoot, nextTargets, programTarget } from '@platform/releases/publication';
import { system } from '../src/composition/system.ts';
import { ImageRefused, preinstall, type PreinstallOf } from '../src/install/preinstall.ts';
import { newKey, newRing, sha256Of } from './release-repository.ts';

const version = '1.2.3';
const platform = 'linux/arm64';

/** The first bytes of an ELF file. */
function elf(machine: number): Buffer {
  const head = Buffer.alloc(64);
  head.write('\x7fELF', 'latin1');
  head.set([2, 1], 4);
  head.writeUInt16LE(machine, 18);
  return head;
}
const arm64 = 183;
const amd64 = 62;

const agentFor = (of: string, machine: number): Buffer =>
  Buffer.concat([
    elf(machine),
    Buffer.from(`\nPLATFORM-PROGRAM:${JSON.stringify({ name: 'platform-agent', version, platform: of })}\n`),
  ]);

/** A card with a Raspberry Pi's system, and what the management server serves. */
async function world(folder: TempFolder): Promise<PreinstallOf> {
  const target = folder.file('card');
  for (const name of ['etc/systemd/system', 'usr/bin', 'usr/local/bin', 'opt'])
    await mkdir(path.join(target, name), { recursive: true });
  await symlink('usr/bin', path.join(target, 'bin'));
  await writeFile(path.join(target, 'usr/bin/dash'), elf(arm64));
  const agent = agentFor(platform, arm64);
  await writeFile(folder.file('agent'), agent);
  const ring = newRing(1);
  const now = Date.parse('2026-01-01T00:00:00Z');
  const root = firstRoot(ring, 1, newKey().publicKey, now);
  const file = { sizeBytes: agent.length, sha256: sha256Of(agent) };
  const add = [programTarget({ name: 'platform-agent', version, platform }, file)];
  const { targets, installerSignature } = nextTargets({ root, targets: Buffer.alloc(0) }, ring, now, { add });
  await writeFile(folder.file('SHA256SUMS'), installerList(root, targets));
  await writeFile(folder.file('SHA256SUMS.sig'), installerSignature);
  await writeFile(folder.file('root.json'), root);
  const proof = {
    sums: folder.file('SHA256SUMS'),
    signature: folder.file('SHA256SUMS.sig'),
    trustedRoot: folder.file('root.json'),
  };
  return { target, binary: folder.file('agent'), proof, defaults: undefined, credentials: undefined };
}

const writeFstab = ({ target }: PreinstallOf, text: string): Promise<void> =>
  writeFile(path.join(target, 'etc/fstab'), text);

const log = createLog({ name: 'test', clock: new FakeClock(), level: 'error', sink: () => {} });
const run = (of: PreinstallOf): Promise<string> =>
  preinstall(of, { system, clock: new FakeClock(), log, report: () => {} });

test('the image gets the agent, its units and what it trusts; again changes nothing', async () => {
  await using folder = await tempFolder();
  const of = await world(folder);
  await writeFile(folder.file('defaults.json'), '{"network_configuration":{"manufacturer":"Barn"}}');
  const at = (file: string): string => path.join(of.target, file);
  for (const _ of ['first', 'second']) {
    assert.equal(await run({ ...of, defaults: folder.file('defaults.json') }), version);
    const program = await readlink(at('opt/platform/bin/platform-agent'));
    assert.deepEqual(await readFile(at(path.join('opt/platform/bin', program))), agentFor(platform, arm64));
    assert.equal((await readdir(at('opt/platform/versions'))).length, 1);
    assert.equal(await readlink(at('usr/local/bin/platform-agent')), '/opt/platform/bin/platform-agent');
    for (const unit of ['platform-agent.service', 'platform-credentials.service'])
      assert.equal(
        await readlink(at(`etc/systemd/system/multi-user.target.wants/${unit}`)),
        `/etc/systemd/system/${unit}`,
      );
    const unit = await readFile(at('etc/systemd/system/platform-agent.service'), 'utf8');
    assert.match(
      unit,
      /^ExecStart=\/opt\/platform\/bin\/platform-agent run --root \/opt\/platform --config \/etc\/platform\.json$/m,
    );
    assert.match(await readFile(at('etc/platform-defaults.json'), 'utf8'), /Barn/);
    assert.equal(await lstat(at('etc/platform.json')).catch(() => undefined), undefined);
    const changes = JSON.parse(await readFile(at('opt/platform/state/changes.json'), 'utf8')) as {
      paths: { path: string; before: { kind: string } }[];
    };
    assert.deepEqual(
      [...new Set(changes.paths.map(({ before }) => before.kind))],
      ['none'],
      'uninstalling removes all',
    );
    assert.ok(changes.paths.some(({ path: one }) => one === '/etc/systemd/system/platform-credentials.service'));
  }
});

for (const [what, change, code] of [
  [
    'a folder without a system',
    async (of: PreinstallOf) => ({ ...of, target: path.join(of.target, 'opt') }),
    'NO_IMAGE',
  ],
  ['the running system', async (of: PreinstallOf) => ({ ...of, target: '/' }), 'NO_IMAGE'],
  [
    'an agent for another platform',
    async (of: PreinstallOf) => (await writeFile(of.binary, agentFor('linux/amd64', amd64)), of),
    'PROGRAM_UNUSABLE',
  ],
  [
    'an agent that the list does not name',
    async (of: PreinstallOf) => (
      await writeFile(of.binary, Buffer.concat([elf(arm64), agentFor(platform, arm64)])),
      of
    ),
    'RELEASE_UNTRUSTED',
  ],
  [
    'a changed list',
    async (of: PreinstallOf) => {
      const sums = of.proof?.sums ?? '';
      const line = `${sha256Of('x')}  ${programTargetPath({ name: 'platform-agent', version, platform })}/platform-agent\n`;
      await writeFile(sums, `${await readFile(sums, 'utf8')}${line}`);
      return of;
    },
    'RELEASE_UNTRUSTED',
  ],
  [
    'the root document of another server',
    async (of: PreinstallOf) => {
      await writeFile(of.proof?.trustedRoot ?? '', firstRoot(newRing(1), 1, newKey().publicKey, 0));
      return of;
    },
    'RELEASE_UNTRUSTED',
  ],
  [
    'defaults that are a list',
    async (of: PreinstallOf) => (await writeFile(`${of.target}.json`, '[]'), { ...of, defaults: `${of.target}.json` }),
    'INVALID_DEFAULTS',
  ],
  [
    'credentials that cannot be used',
    async (of: PreinstallOf) => (
      await writeFile(`${of.target}.json`, '{}'),
      { ...of, credentials: `${of.target}.json` }
    ),
    'NO_CREDENTIALS',
  ],
  [
    'defaults in Latin-1',
    async (of: PreinstallOf) => (
      await writeFile(`${of.target}.json`, Buffer.from('{"a": "Müller"}', 'latin1')),
      { ...of, defaults: `${of.target}.json` }
    ),
    'INVALID_DEFAULTS',
  ],
  [
    'a system of 32 bits',
    async (of: PreinstallOf) => {
      const head = elf(40);
      head.set([1], 4);
      await writeFile(path.join(of.target, 'usr/bin/dash'), head);
      return of;
    },
    'PLATFORM_UNSUPPORTED',
  ],
  [
    'an fstab that mounts the folder of the agent noexec',
    async (of: PreinstallOf) => (await writeFstab(of, 'UUID=1 / ext4 defaults 0 1\nUUID=2 /opt ext4 noexec 0 2\n'), of),
    'ROOT_NOEXEC',
  ],
] as const) {
  test(`refused, and nothing is changed: ${what}`, async () => {
    await using folder = await tempFolder();
    const of = await change(await world(folder));
    await assert.rejects(run(of), (error) => error instanceof ImageRefused && error.code === code);
    assert.equal(await lstat(folder.file('card', 'opt', 'platform')).catch(() => undefined), undefined);
  });
}

for (const [options, mountPoint, isRefused] of [
  ['rw,noexec', '/', true],
  ['defaults,users', '/opt/platform', true],
  ['noexec,exec', '/opt', false],
  ['users,exec', '/opt', false],
  ['noexec', '/opt/platform-data', false],
  ['noexec', '/home', false],
] as const)
  test(`an fstab with ${options} on ${mountPoint}: ${isRefused ? 'refused with the remedy' : 'accepted'}`, async () => {
    await using folder = await tempFolder();
    const of = await world(folder);
    await writeFstab(of, `# made by hand\nUUID=1 ${mountPoint} ext4 ${options} 0 1\nUUID=2 none swap sw 0 0\n`);
    if (!isRefused) return assert.equal(await run(of), version);
    await assert.rejects(run(of), (error) => {
      assert.ok(error instanceof ImageRefused);
      assert.match(error.message, new RegExp(`mounts ${mountPoint} noexec \\(options ${options}\\)`));
      assert.match(error.remedy, new RegExp(`exec at the end of the options of ${mountPoint} `));
      return true;
    });
    assert.equal(await lstat(folder.file('card', 'opt', 'platform')).catch(() => undefined), undefined);
  });

for (const link of ['etc/systemd', 'usr/local', 'opt']) {
  test(`an image whose ${link} leads out of it changes nothing on this computer`, async () => {
    await using folder = await tempFolder();
    const of = await world(folder);
    await mkdir(folder.file('computer', 'system'), { recursive: true });
    const at = path.join(of.target, link);
    spawnSync('rm', ['-rf', at]);
    await symlink(folder.file('computer'), at);
    await assert.rejects(run(of), (error) => error instanceof ImageRefused && error.code === 'IMAGE_LEADS_OUT');
    assert.deepEqual(await readdir(folder.file('computer')), ['system']);
    assert.deepEqual(await readdir(folder.file('computer', 'system')), []);
  });
}

test('at boot the credentials of the boot partition become those of the machine, and leave the card', async () => {
  await using folder = await tempFolder();
  const of = await world(folder);
  await run(of);
  const script = await readFile(path.join(of.target, 'opt/platform/lib/take-credentials'), 'utf8');
  const boot = folder.file('boot');
  const etc = path.join(of.target, 'etc/platform.json');
  const here = script.replaceAll(' /boot/', ` ${boot}/`).replaceAll('/etc/platform.json', etc);
  const start = (): void => assert.equal(spawnSync('sh', ['-c', here], { encoding: 'utf8' }).stderr, '');
  await mkdir(path.join(boot, 'firmware'), { recursive: true });
  start();
  assert.equal(await stat(etc).catch(() => undefined), undefined, 'no file, no change');
  for (const [name, content] of [
    ['firmware/platform.json', '{"cloud":1}'],
    ['platform.json', '\uFEFF{"cloud":2}'],
  ] as const) {
    await writeFile(path.join(boot, name), content);
    start();
    assert.equal(await readFile(etc, 'utf8'), content.replace('\uFEFF', ''));
    assert.equal((await stat(etc)).mode & 0o777, 0o600);
    assert.equal(await stat(path.join(boot, name)).catch(() => undefined), undefined);
  }
  assert.equal(await readFile(`${etc}.old`, 'utf8'), '{"cloud":1}');
});
