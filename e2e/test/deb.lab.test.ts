// The Debian package, by real apt: it installs the agent once, then the agent updates itself and the package never
// interferes; removal and purge leave what they promise.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { tempFolder, type TempFolder } from '@platform/kit/testing';
import { build, debOfAgent } from '../lab/builds.ts';
import { everything, isOnline, isOnlineSince, mainPid, runningVersion, telling } from '../lab/installed.ts';
import { container, eventually, type LabMachine } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { type Site, startSite } from '../lab/site.ts';

/** Adds packages to the repository on the machine that its apt knows. */
async function offer(machine: LabMachine, ...files: string[]): Promise<void> {
  await machine.push('/srv/repo', ...files);
  await machine.must(
    'cd /srv/repo && apt-ftparchive packages . > Packages && echo "deb [trusted=yes] file:/srv/repo ./" > /etc/apt/sources.list && apt-get update',
    120,
  );
}

const apt = (command: string): string => `DEBIAN_FRONTEND=noninteractive apt-get -y ${command}`;
const packaged = (machine: LabMachine): Promise<string> =>
  machine.must("dpkg-query -W -f '${db:Status-Abbrev}${Version}' platform-agent");
const running = (machine: LabMachine, version: string): Promise<true> =>
  eventually(`version ${version} runs`, 300, async () =>
    (await runningVersion(machine, 'platform-agent')) === version ? true : undefined,
  );

/** The lines of system folders: apt's own logs and lists change with every command. */
const ofSystem = (lines: string): string[] =>
  lines.split('\n').filter((line) => /^(\.\/(etc|usr|opt|root)|[0-9a-f]{64} )/.test(line));

async function rootDocument(site: Site, folder: TempFolder): Promise<string> {
  const answer = await fetch(`${site.localUrl}/tuf/1.root.json`);
  assert.equal(answer.status, 200);
  await writeFile(folder.file('root.json'), await answer.text());
  return folder.file('root.json');
}

test('apt installs the agent, and leaves its updates to the agent', { timeout: 1_200_000 }, async (t) => {
  await using site = await startSite();
  await using folder = await tempFolder();
  await site.publish(await build('platform-server', '0.1.0'), 'stable');
  await site.publish(await build('platform-agent', '0.3.0'), 'stable');
  const trusted = ['--trusted-root', await rootDocument(site, folder)];
  const debs = new Map<string, string>();
  for (const version of ['0.1.0', '0.2.0-rc.1', '0.4.0', '0.5.0'])
    debs.set(version, await debOfAgent(await build('platform-agent', version), folder, ...trusted));
  const debOf = (version: string): string => debs.get(version) ?? '';
  const { partId, credentialsJson } = await site.createMachine('barn');
  await site.configure(partId, { advanced_settings: { agent_auto_restart: true } });
  await writeFile(folder.file('platform.json'), credentialsJson);
  await using machine = await container(site.port);
  await offer(machine, debOf('0.1.0'));
  const before = await everything(machine);

  await telling(machine, async () => {
    await t.test('install: the agent runs, and waits for credentials', async () => {
      await machine.must(apt('install platform-agent'), 300);
      await running(machine, '0.1.0');
      assert.equal(await machine.must('systemctl is-enabled platform-agent'), 'enabled');
      assert.equal(await packaged(machine), 'ii 0.1.0');
    });

    await t.test('upgrade without credentials: the newer package is the newer agent', async () => {
      await offer(machine, debOf('0.2.0-rc.1'));
      await machine.must(apt('upgrade'), 300);
      await running(machine, '0.2.0-rc.1');
      assert.equal(await packaged(machine), 'ii 0.2.0~rc.1');
    });

    await t.test('with credentials the agent updates itself', async () => {
      await machine.push('/etc', folder.file('platform.json'));
      await site.until(partId, 'online, and its server runs', 300, isOnline);
      await running(machine, '0.3.0');
    });

    await t.test('upgrade: the running agent and its server stay', async () => {
      await offer(machine, debOf('0.4.0'));
      const pids = async () => [await mainPid(machine, 'platform-agent'), await mainPid(machine, 'platform-server')];
      await eventually('the trial has ended', 300, async () =>
        (await machine.exec('test -e /opt/platform/state/platform-agent.trial')).code === 1 ? true : undefined,
      );
      const was = await pids();
      const { seconds } = await timed(async () => {
        assert.match(await machine.must(apt('upgrade'), 300), /platform-agent updates itself/);
      });
      assert.deepEqual(await pids(), was);
      assert.equal(await runningVersion(machine, 'platform-agent'), '0.3.0');
      assert.equal(await packaged(machine), 'ii 0.4.0');
      await keep('deb: upgrade beside the self-updater', 'container', seconds, 'the same processes run');
    });

    await t.test('uninstalled by a user: an upgrade does not bring it back', async () => {
      await machine.must('platform-agent uninstall --yes --keep-credentials', 120);
      await offer(machine, debOf('0.5.0'));
      assert.match(await machine.must(apt('upgrade'), 300), /was uninstalled on this machine and stays so/);
      assert.equal(await mainPid(machine, 'platform-agent'), 0);
    });

    await t.test('remove and install again: online with the credentials that stayed', async () => {
      await machine.must(apt('remove platform-agent'), 300);
      const since = systemClock.wall();
      await machine.must(apt('install platform-agent'), 300);
      await site.until(partId, 'online again', 300, isOnlineSince(since));
      await running(machine, '0.3.0');
    });

    await t.test('purge: nothing is left, and the server knows', async () => {
      await machine.must(apt('purge platform-agent'), 300);
      await site.until(
        partId,
        'uninstalled',
        60,
        ({ onlineState, uninstalledOn }) => onlineState !== OnlineState.ONLINE && uninstalledOn !== undefined,
      );
      assert.equal((await machine.exec('pgrep -f /opt/[p]latform')).stdout, '');
      await machine.must('rm -f /srv/repo/*.deb');
      const after = await everything(machine);
      const isOurs = (line: string): boolean => /platform-agent|opt\/platform|etc\/platform/.test(line);
      assert.deepEqual(after.split('\n').filter(isOurs), []);
      assert.deepEqual(ofSystem(after), ofSystem(before));
    });
  });
});

test('the package for arm64 holds the agent for arm64, and the same agent gives the same bytes', async () => {
  await using one = await tempFolder();
  await using two = await tempFolder();
  const agent = await build('platform-agent', '0.1.0', { platform: 'linux/arm64' });
  const [file, again] = [await debOfAgent(agent, one), await debOfAgent(agent, two)];
  const output = (command: string, ...args: string[]): string => spawnSync(command, args, { encoding: 'utf8' }).stdout;
  assert.equal(
    output('dpkg-deb', '-f', file, 'Package', 'Architecture'),
    'Package: platform-agent\nArchitecture: arm64\n',
  );
  assert.match(output('dpkg-deb', '-c', file), /root\/root .* \.\/usr\/lib\/platform-agent\/platform-agent\n/);
  assert.equal(output('sha256sum', file).slice(0, 64), output('sha256sum', again).slice(0, 64));
});
