// The cost of ten idle minutes: processor, network, disk. The machine's kernel counts it: in a container on this host's
// processor, and in a virtual machine with much longer emulated seconds.
import { test } from 'node:test';
import { build } from '../lab/builds.ts';
import { idles } from '../lab/idle-story.ts';
import { installed, telling } from '../lab/installed.ts';
import { container, virtualMachine } from '../lab/machine.ts';
import { startSite } from '../lab/site.ts';

const minutes = Number(process.env['PLATFORM_LAB_IDLE_MINUTES'] ?? 10);

for (const [where, machineAt] of [
  ['container', container],
  ['vm', virtualMachine],
] as const)
  test(`${minutes} idle minutes, ${where}`, { timeout: 3_600_000 }, async () => {
    await using site = await startSite();
    await site.publish(await build('platform-server', '0.1.0'), 'stable');
    await site.publish(await build('platform-agent', '0.1.0'), 'stable');
    await using machine = await machineAt(site.port);
    await telling(machine, async () => {
      await installed(site, machine, 'barn');
      await idles({ machine, where }, minutes);
    });
  });
