// Upgrade, downgrade and pins of both programs on a machine with systemd; also files that are not such programs.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { UpdateState, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { type Build, build } from '../lab/builds.ts';
import { installed, isOnline, mainPid, runningVersion, telling, untilRuns } from '../lab/installed.ts';
import { container } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';

test('versions of agent and machine server', { timeout: 2_400_000 }, async (t) => {
  await using site = await startSite();
  const agents = { old: await build('platform-agent', '0.1.0'), new: await build('platform-agent', '0.1.1') };
  const servers = { old: await build('platform-server', '0.1.0'), new: await build('platform-server', '0.1.1') };
  // Files from another source, without signatures.
  const own = { agent: await build('platform-agent', '0.1.2'), server: await build('platform-server', '0.1.2') };
  for (const one of [agents.old, servers.old]) await site.publish(one, 'stable');
  for (const one of [agents.new, servers.new]) await site.publish(one);
  await using machine = await container(site.port);
  const { partId } = await telling(machine, () => installed(site, machine, 'barn'));
  await machine.push('/opt/builds', own.agent.file, own.server.file);
  await machine.must('systemd-run -q --unit=builds python3 -m http.server 8000 --bind 127.0.0.1 -d /opt/builds');

  /** The agent may restart itself. */
  const want = (agent: string, server: string) =>
    site.configure(partId, {
      version_control: { agent, 'platform-server': server },
      advanced_settings: { agent_auto_restart: true },
    });
  const reports = (what: string, isSo: (machine: Machine) => boolean) => site.until(partId, what, 180, isSo);
  const restartServer = async (version: string): Promise<number> => {
    await reports(
      `${version} is staged`,
      ({ report }) => report?.server?.installedVersion === version && report.server.restartNeeded,
    );
    const { seconds } = await timed(async () => {
      await site.fleet.restartPart({ partId });
      await untilRuns(machine, 'platform-server', version, 180);
      await reports('online', isOnline);
    });
    return seconds;
  };

  await telling(machine, async () => {
    await t.test('agent: a new version waits for the next restart', async () => {
      await site.configure(partId, { version_control: { agent: '0.1.1', 'platform-server': '0.1.0' } });
      const pid = await mainPid(machine, 'platform-agent');
      const { seconds } = await timed(() =>
        reports('staged', ({ report }) => report?.agent?.lastUpdate?.state === UpdateState.STAGED),
      );
      assert.equal(await mainPid(machine, 'platform-agent'), pid);
      await machine.must('systemctl restart platform-agent');
      assert.equal(await runningVersion(machine, 'platform-agent'), '0.1.1');
      await reports('the app shows it', (found) => isOnline(found) && found.report?.agent?.runningVersion === '0.1.1');
      await keep('agent: upgrade by version, saved until staged', 'container', seconds);
    });

    await t.test(
      'agent: with agent_auto_restart a downgrade takes effect by itself, and the server stays up',
      async () => {
        const server = await mainPid(machine, 'platform-server');
        await want('0.1.0', '0.1.0');
        const seconds = await untilRuns(machine, 'platform-agent', '0.1.0', 180);
        await reports(
          'the app shows it',
          (found) => isOnline(found) && found.report?.agent?.runningVersion === '0.1.0',
        );
        assert.equal(await mainPid(machine, 'platform-server'), server);
        await keep(
          'agent: downgrade by version, until it runs',
          'container',
          seconds,
          'the machine server kept its pid',
        );
      },
    );

    await t.test('server: up and down by version, at its next restart', async () => {
      await want('0.1.0', '0.1.1');
      const up = await restartServer('0.1.1');
      await want('0.1.0', '0.1.0');
      const down = await restartServer('0.1.0');
      await keep('server: upgrade by version, restart until ready', 'container', up);
      await keep('server: downgrade by version, restart until ready', 'container', down);
    });

    for (const [form, place] of [
      ['URL', 'http://127.0.0.1:8000'],
      ['file', 'file:///opt/builds'],
    ] as const) {
      await t.test(`both pinned by ${form}`, async () => {
        const address = ({ file, sha256 }: Build): string => `${place}/${path.basename(file)}#sha256=${sha256}`;
        await want(address(own.agent), address(own.server));
        const { seconds } = await timed(async () => {
          await eventuallyRuns(machine, 'platform-agent', own.agent.sha256);
          await reports('staged', ({ report }) => report?.server?.restartNeeded === true);
          await site.fleet.restartPart({ partId });
          await eventuallyRuns(machine, 'platform-server', own.server.sha256);
        });
        await reports(
          'known as not signed',
          (found) =>
            isOnline(found) && found.report?.agent?.unsigned === true && found.report.server?.unsigned === true,
        );
        await keep(`both pinned by ${form}`, 'container', seconds);
        await want('0.1.0', '0.1.0');
        await untilRuns(machine, 'platform-agent', '0.1.0', 180);
        await restartServer('0.1.0');
      });
    }

    await t.test('a wrong program is refused, and the machine goes on', async () => {
      const arm = await build('platform-agent', '0.1.1', { platform: 'linux/arm64' });
      await machine.push('/opt/builds', arm.file);
      const at = (file: string) => `file:///opt/builds/${file.split('/').at(-1)}`;
      const pids = [await mainPid(machine, 'platform-agent'), await mainPid(machine, 'platform-server')];
      const table = [
        ['a server as agent', at(own.server.file), '0.1.0'],
        ['an agent as server', '0.1.0', at(own.agent.file)],
        ['an agent for another processor', at(arm.file), '0.1.0'],
      ] as const;
      for (const [what, agent, server] of table) {
        await want(agent, server);
        const { report } = await reports(`${what} is refused`, (found) => {
          const program = server === '0.1.0' ? found.report?.agent : found.report?.server;
          return program?.lastUpdate?.state === UpdateState.FAILED && program.lastUpdate.code === 'PROGRAM_REFUSED';
        });
        const program = server === '0.1.0' ? report?.agent : report?.server;
        assert.notEqual(program?.lastUpdate?.reason, '', what);
        await want('0.1.0', '0.1.0');
        await reports('back', (found) => isOnline(found));
      }
      assert.deepEqual([await mainPid(machine, 'platform-agent'), await mainPid(machine, 'platform-server')], pids);
      await keep(
        'a wrong program is refused',
        'container',
        0,
        `${table.map(([what]) => what).join('; ')}; both kept running`,
      );
    });
  });
});

/** Waits until the unit runs a file with this content. */
async function eventuallyRuns(
  machine: Parameters<typeof mainPid>[0],
  unit: 'platform-agent' | 'platform-server',
  sha256: string,
): Promise<void> {
  const look = `p=$(systemctl show -P MainPID ${unit}); [ "$p" != 0 ] && sha256sum < /proc/$p/exe | grep -q ${sha256}`;
  await machine.must(`for i in $(seq 180); do ${look} && exit 0; sleep 1; done; exit 1`, 400);
}
