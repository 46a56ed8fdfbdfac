// The one-line installation of the specification, on a machine with systemd, from a running management server.
import { test } from 'node:test';
import { build } from '../lab/builds.ts';
import { comesBack, installs, installsAgain, uninstalls } from '../lab/install-story.ts';
import { everything, telling } from '../lab/installed.ts';
import { container } from '../lab/machine.ts';
import { startSite } from '../lab/site.ts';

test('one line installs, a second time changes nothing, uninstall leaves nothing', { timeout: 900_000 }, async (t) => {
  await using site = await startSite();
  await site.publish(await build('platform-server', '0.1.0'), 'stable');
  await site.publish(await build('platform-agent', '0.1.0'), 'stable');
  await using machine = await container(site.port);
  const { partId } = await site.createMachine('barn');
  const before = await everything(machine);
  const installation = { site, machine, partId, where: 'container' };

  await telling(machine, async () => {
    await t.test('install', () => installs(installation));
    await t.test('again', () => installsAgain(installation));
    await t.test('a reboot', () => comesBack(installation));
    await t.test('uninstall', () => uninstalls(installation, before));
  });
});
