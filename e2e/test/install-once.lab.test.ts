// The line of "Add a machine", as its page shows it, on a machine that has nothing: a container with systemd, over TLS of an
// authority that it does not know.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyedCommands } from '@platform/contract/provisioning/install-command';
import { InstallStepKind } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { build } from '../lab/builds.ts';
import { isOnline } from '../lab/installed.ts';
import { container } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';

test('one paste brings a container online, and no second one', { timeout: 900_000 }, async () => {
  await using site = await startSite();
  await site.publish(await build('platform-server', '0.1.0'), 'stable');
  await site.publish(await build('platform-agent', '0.1.0'), 'stable');
  await using machine = await container(site.port);
  const { partId } = await site.createMachine('barn');
  const key = await site.fleet.createInstallKey({ partId });
  const { linux } = keyedCommands(
    { ...key, url: site.url, scriptCommand: site.scriptCommand, partId },
    [],
    'platform-barn',
  );
  // Its shell is root's.
  const line = linux.replace(/^sudo /, '');
  const { seconds } = await timed(async () => {
    await machine.must(line, 900);
    await site.until(partId, 'online, server running', 900, isOnline);
  });
  await keep('install by a line with a one-time key, until agent and machine server are online', 'container', seconds);

  const { steps, usedOn, reportedOn } = await site.fleet.getInstallation({ partId });
  assert.deepEqual(
    steps.map(({ kind }) => kind),
    [InstallStepKind.STARTED, InstallStepKind.DOWNLOADED, InstallStepKind.VERIFIED, InstallStepKind.INSTALLED],
  );
  assert.ok(usedOn && reportedOn);
  assert.match(steps.at(-1)?.detail ?? '', /0\.1\.0 is installed, and platform-agent\.service runs/);

  assert.match(await machine.must(line, 900), /keeps them/);
  await using other = await container(site.port);
  const refused = await other.exec(line, 900);
  assert.equal(refused.code, 1, refused.stdout);
  assert.match(refused.stderr, /one-time key of this line was used.*Make a new line/);
});
