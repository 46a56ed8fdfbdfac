// The one-line installation of the specification, on a machine with systemd, from a running management server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { build } from '../lab/builds.ts';
import { everything, isOnline, isOnlineSince, mainPid, oneLine, runningVersion, telling } from '../lab/installed.ts';
import { container } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';

test('one line installs, a second time changes nothing, uninstall leaves nothing', { timeout: 900_000 }, async (t) => {
  await using site = await startSite();
  await site.publish(await build('platform-server', '0.1.0'), 'stable');
  await site.publish(await build('platform-agent', '0.1.0'), 'stable');
  await using machine = await container(site.port);
  const { partId } = await site.createMachine('barn');
  const before = await everything(machine);
  const line = oneLine(site, partId);

  await telling(machine, async () => {
    await t.test('install', async () => {
      const { seconds } = await timed(async () => {
        await machine.must(line, 300);
        await site.until(partId, 'online, server running', 300, isOnline);
      });
      assert.equal(
        await machine.must('systemctl is-enabled platform-agent; systemctl is-active platform-agent'),
        'enabled\nactive',
      );
      assert.equal(await runningVersion(machine, 'platform-agent'), '0.1.0');
      assert.equal(await machine.must('stat -c "%a %U" /etc/platform.json'), '600 root');
      await keep('install by one line, until agent and machine server are online', 'container', seconds);
    });

    await t.test('again', async () => {
      const pids = [await mainPid(machine, 'platform-agent'), await mainPid(machine, 'platform-server')];
      const files =
        'cd / && find opt/platform/versions opt/platform/bin opt/platform/lib etc -printf "%p %i %T@ %l\\n" | sort';
      const tree = await machine.must(files);
      const { seconds } = await timed(() => machine.must(line, 300));
      assert.equal(await machine.must(files), tree);
      assert.deepEqual([await mainPid(machine, 'platform-agent'), await mainPid(machine, 'platform-server')], pids);
      await keep('the same line again changes nothing', 'container', seconds);
    });

    await t.test('a reboot', async () => {
      await machine.kill();
      const killed = systemClock.wall();
      const { seconds } = await timed(async () => {
        await machine.up();
        await site.until(partId, 'online again', 300, isOnlineSince(killed));
      });
      await keep('all processes killed, started again, until online', 'container', seconds);
    });

    await t.test('uninstall', async () => {
      const removal = `${site.scriptCommand.replaceAll('/install.sh', '/uninstall.sh')} | sh`;
      const { seconds } = await timed(async () => {
        assert.match(await machine.must(removal, 300), /notified the management server/);
      });
      assert.equal(await mainPid(machine, 'platform-agent'), 0);
      assert.equal((await machine.exec('pgrep -f /opt/[p]latform')).stdout, '');
      assert.deepEqual(diff(before, await everything(machine)), []);
      assert.match(await machine.must('systemctl show -P LoadState platform-agent'), /not-found/);
      await keep('uninstall: nothing is left', 'container', seconds, 'paths, modes and settings as before the install');
    });
  });
});

/** Returns the lines that only one of the two contains. */
function diff(before: string, after: string): string[] {
  const [was, is] = [new Set(before.split('\n')), new Set(after.split('\n'))];
  return [
    ...[...was].filter((line) => !is.has(line)).map((line) => `- ${line}`),
    ...[...is].filter((line) => !was.has(line)).map((line) => `+ ${line}`),
  ];
}
