// The Debian package for arm64, by real apt on an emulated arm64 machine: install, online, an upgrade that leaves the
// running agent alone, and a purge that leaves nothing.
import assert from 'node:assert/strict';
import path from 'node:path';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { build, debOfAgent } from '../lab/builds.ts';
import { everything, isOnline, mainPid, runningVersion, telling } from '../lab/installed.ts';
import { arm64Machine, eventually } from '../lab/machine.ts';
import { serveFiles } from '../lab/file-server.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';

const where = 'arm64';
const platform = 'linux/arm64';
const apt = (command: string): string => `DEBIAN_FRONTEND=noninteractive apt-get -y ${command}`;

test('apt on arm64 installs the agent, and leaves its updates to the agent', { timeout: 2 * 3_600_000 }, async (t) => {
  await using site = await startSite();
  await using folder = await tempFolder();
  const agents = [
    await build('platform-agent', '0.1.0', { platform }),
    await build('platform-agent', '0.4.0', { platform }),
  ];
  const [first = '', second = ''] = await Promise.all(agents.map((agent) => debOfAgent(agent, folder)));
  await site.publish(await build('platform-server', '0.1.0', { platform }), 'stable');
  const { partId, credentialsJson } = await site.createMachine('barn');
  await writeFile(folder.file('platform.json'), credentialsJson);
  await using served = await serveFiles(first, second, folder.file('platform.json'));
  await using machine = await arm64Machine(site.port, served.port);
  await machine.must('systemctl is-system-running --wait', 600);
  const programs = async (): Promise<string[]> =>
    (await everything(machine)).split('\n').filter((line) => /^(\.\/(etc|usr|opt|root)|[0-9a-f]{64} )/.test(line));
  const before = await programs();
  for (const file of [first, second, folder.file('platform.json')])
    await machine.must(`cd /root && curl -fsSO http://app.platform.test:8099/${path.basename(file)}`, 900);

  await telling(machine, async () => {
    await t.test('install: online with the credentials that are put there', async () => {
      const { seconds } = await timed(async () => {
        await machine.must(apt(`install /root/${path.basename(first)}`), 900);
        await machine.must('mv /root/platform.json /etc/platform.json && chmod 600 /etc/platform.json');
        await site.until(partId, 'online, and its server runs', 900, isOnline);
      });
      assert.equal(await runningVersion(machine, 'platform-agent'), '0.1.0');
      await keep('deb: install by apt, until agent and machine server are online', where, seconds);
    });

    await t.test('upgrade: the running agent and its server stay', async () => {
      const pids = async () => [await mainPid(machine, 'platform-agent'), await mainPid(machine, 'platform-server')];
      await eventually('the trial has ended', 600, async () =>
        (await machine.exec('test -e /opt/platform/state/platform-agent.trial')).code === 1 ? true : undefined,
      );
      const was = await pids();
      assert.match(await machine.must(apt(`install /root/${path.basename(second)}`), 900), /updates itself/);
      assert.deepEqual(await pids(), was);
    });

    await t.test('purge: nothing is left', async () => {
      const { seconds } = await timed(() => machine.must(apt('purge platform-agent'), 900));
      await machine.must('rm -f /root/*.deb');
      const after = await programs();
      const without = (some: string[], others: string[]): string[] => {
        const known = new Set(others);
        return some.filter((line) => !known.has(line));
      };
      assert.deepEqual({ more: without(after, before), fewer: without(before, after) }, { more: [], fewer: [] });
      await keep('deb: purge', where, seconds);
    });
  });
});
