// Agent and machine server for linux/arm64 on an emulated arm64 machine with its own kernel and systemd, installed over
// TLS by the one-line command: the stories of the amd64 machines, and the budgets of size and memory.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { constants, zstdCompressSync } from 'node:zlib';
import { type Build, build, type Fault, type ProgramName } from '../lab/builds.ts';
import { idles } from '../lab/idle-story.ts';
import { comesBack, type Installation, installs, installsAgain, uninstalls } from '../lab/install-story.ts';
import { everything, telling } from '../lab/installed.ts';
import { arm64Machine } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { reverts } from '../lab/revert-story.ts';
import { type Site, startSite } from '../lab/site.ts';
import { updateOfBoth } from '../lab/update-both.ts';

const minutes = Number(process.env['PLATFORM_LAB_IDLE_MINUTES'] ?? 10);
const where = 'arm64';
const programs = ['platform-agent', 'platform-server'] as const;
const armBuild = (name: ProgramName, version: string, fault?: Fault): Promise<Build> =>
  build(name, version, { platform: 'linux/arm64', ...(fault !== undefined && { fault }) });

/** Publishes 0.1.0 (stable), 0.1.1, and 0.2.1 that crashes. */
async function publish(site: Site): Promise<void> {
  for (const name of programs) {
    const stable = await armBuild(name, '0.1.0');
    await site.publish(stable, 'stable');
    await site.publish(await armBuild(name, '0.1.1'));
    await site.publish(await armBuild(name, '0.2.1', 'crash'));
    await keepSize(stable);
  }
}

async function keepSize({ name, file, size }: Build): Promise<void> {
  const { seconds, value } = await timed(async () =>
    zstdCompressSync(await readFile(file), { params: { [constants.ZSTD_c_compressionLevel]: 19 } }),
  );
  const [whole, packed] = [size, value.length].map((bytes) => (bytes / 1e6).toFixed(1));
  await keep(`file of ${name}, packed with zstd -19`, where, seconds, `${whole} MB; packed ${packed} MB`);
}

/** Both programs are on 0.1.0. */
async function updates({ site, partId }: Installation): Promise<void> {
  const { want, updated } = updateOfBoth(site, partId);
  await want('0.1.1');
  const { seconds } = await timed(() => updated('0.1.1'));
  await keep('update of both, saved until both run and are online', where, seconds);
}

test('an arm64 machine, from installation to removal', { timeout: 2 * 3_600_000 }, async (t) => {
  await using site = await startSite();
  await publish(site);
  const { seconds: boot, value: machine } = await timed(() => arm64Machine(site.port));
  await using _machine = machine;
  await machine.must('systemctl is-system-running --wait', 600);
  const [system, kernel] = (await machine.must('. /etc/os-release; echo "$PRETTY_NAME"; uname -mr')).split('\n');
  assert.match(kernel ?? '', / aarch64$/);
  await keep('boot of the machine', where, boot, `${system}, Linux ${kernel}`);
  const { partId } = await site.createMachine('barn');
  const before = await everything(machine);
  const installation = { site, machine, partId, where };

  await telling(machine, async () => {
    await t.test('install', () => installs(installation));
    await t.test('again', () => installsAgain(installation));
    for (const name of programs)
      await t.test(`${name} that would crash`, () => reverts(installation, [name, 'crash', '0.2.1']));
    await t.test('update', () => updates(installation));
    await t.test('a power cut', () => comesBack(installation));
    await t.test('idle', () => idles(installation, minutes));
    await t.test('uninstall', () => uninstalls(installation, before));
  });
});
