// Versions that crash, hang, or cannot connect: the machine rolls back to the previous version and reports it in the
// app.
import { test } from 'node:test';
import { build } from '../lab/builds.ts';
import { installed, telling } from '../lab/installed.ts';
import { container } from '../lab/machine.ts';
import { type BadVersion, reverts } from '../lab/revert-story.ts';
import { type Site, startSite } from '../lab/site.ts';

const bad: readonly BadVersion[] = [
  ['platform-agent', 'crash', '0.2.1'],
  ['platform-agent', 'hang', '0.2.2'],
  ['platform-agent', 'mute', '0.2.3'],
  ['platform-server', 'crash', '0.2.1'],
  ['platform-server', 'hang', '0.2.2'],
  ['platform-server', 'background', '0.2.3'],
];

test('a bad version', { timeout: 2_400_000 }, async (t) => {
  await using site = await startSite();
  for (const name of ['platform-agent', 'platform-server'] as const)
    await site.publish(await build(name, '0.1.0'), 'stable');
  for (const [name, fault, version] of bad) await site.publish(await build(name, version, { fault }));
  // The tests mostly wait, so they run in parallel, each on its own machine.
  const ended = await Promise.allSettled(bad.map((one) => revert(site, one)));
  for (const [index, [name, fault]] of bad.entries()) {
    await t.test(`${name} that would ${fault}`, () => {
      const end = ended[index];
      if (end?.status === 'rejected') throw end.reason;
    });
  }
});

async function revert(site: Site, version: BadVersion): Promise<void> {
  await using machine = await container(site.port);
  await telling(machine, async () => {
    const { partId } = await installed(site, machine, `${version[0]}-${version[1]}`);
    await reverts({ site, machine, partId, where: 'container' }, version);
  });
}
