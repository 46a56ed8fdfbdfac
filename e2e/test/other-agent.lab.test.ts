// A machine with another product's agent, under systemd: restored if ours cannot be installed, migrated to ours, and
// ours after a reboot.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { parseCredentials } from '@platform/contract/machine-server/machine-server';
import { build } from '../lab/builds.ts';
import { isOnline, isOnlineSince, mainPid, runningVersion, telling } from '../lab/installed.ts';
import { container, eventually } from '../lab/machine.ts';
import { installOtherAgent, otherUnit } from '../lab/other-agent.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';

const other = '0.28.1';

test("another product's agent under systemd: put back, then moved to ours", { timeout: 900_000 }, async () => {
  await using site = await startSite();
  await site.publish(await build('platform-server', '0.1.0'), 'stable');
  await site.publish(await build('platform-agent', '0.1.0'), 'stable');
  await using machine = await container(site.port);
  const { partId, credentialsJson } = await site.createMachine('barn');
  const parsed = parseCredentials(credentialsJson);
  assert.ok(parsed.ok);

  await telling(machine, async () => {
    await installOtherAgent(machine, { version: other, credentialsJson, authority: parsed.value.authority ?? '' });
    const isOther = (version: string) =>
      site.until(
        partId,
        'the other agent reports',
        120,
        (one) => one.hasOtherAgent && one.report?.agent?.runningVersion === version,
      );
    await isOther(other);
    const pid = await mainPid(machine, otherUnit);
    const states = async () =>
      (
        await machine.exec(
          `systemctl is-active ${otherUnit} platform-agent; systemctl is-enabled ${otherUnit} platform-agent 2>/dev/null`,
        )
      ).stdout
        .trim()
        .split('\n');
    assert.deepEqual(await states(), ['active', 'inactive', 'enabled']);

    // Our folder cannot be created: the other agent runs again, unchanged.
    await machine.must('touch /opt/platform');
    await site.cli('machine', 'migrate', 'barn');
    const failed = await site.until(
      partId,
      'the failure is reported',
      300,
      ({ report }) => report?.conditions.some(({ code }) => code === 'MIGRATION_FAILED') === true,
    );
    assert.match(JSON.stringify(failed.report?.conditions.map(({ message }) => message)), /\/opt\/platform/);
    await eventually('the other agent runs again', 120, async () => {
      const now = await mainPid(machine, otherUnit);
      const { stdout } = await machine.exec(`tr '\\0' ' ' </proc/${now}/cmdline`);
      return now !== pid && stdout.includes('program.mjs') ? true : undefined;
    });
    assert.equal(
      await machine.must(`readlink /opt/viam/bin/viam-agent`),
      `/opt/viam/cache/viam-agent-v${other}-x86_64`,
    );
    assert.deepEqual((await states()).slice(0, 1), ['active']);

    await machine.must('rm /opt/platform');
    const { seconds } = await timed(async () => {
      await site.cli('machine', 'migrate', 'barn');
      await site.until(partId, 'ours is online, its server runs', 300, (one) => !one.hasOtherAgent && isOnline(one));
    });
    await keep('a machine moved from another agent, until agent and machine server are online', 'container', seconds);
    await eventually('the other service is stopped', 120, async () =>
      (await states())[0] === 'inactive' ? true : undefined,
    );
    assert.deepEqual(await states(), ['inactive', 'active', 'disabled', 'enabled']);
    assert.equal(await runningVersion(machine, 'platform-agent'), '0.1.0');
    assert.equal(
      await machine.must('cat /etc/platform.json; stat -c "%a %U" /etc/platform.json'),
      `${credentialsJson.trimEnd()}\n600 root`,
    );
    assert.equal(await machine.must(`ls /etc/systemd/system/${otherUnit}.d | wc -l`), '0', 'the guard is gone');

    await machine.kill();
    const killed = systemClock.wall();
    await machine.up();
    await site.until(partId, 'online after a reboot', 300, isOnlineSince(killed));
    assert.deepEqual(await states(), ['inactive', 'active', 'disabled', 'enabled']);

    // The way back: the other agent's own program runs, and ours stays stopped.
    const linked = () => machine.must('readlink /opt/viam/bin/viam-agent');
    assert.equal(await linked(), `/opt/viam/cache/viam-agent-v${other}-x86_64`);
    await machine.must('platform-agent migrate-back --yes');
    await isOther(other);
    assert.deepEqual(await states(), ['active', 'inactive', 'enabled', 'disabled']);
    await machine.must('platform-agent uninstall --yes');
    assert.equal(await linked(), `/opt/viam/cache/viam-agent-v${other}-x86_64`);
    assert.deepEqual((await states()).slice(0, 2), ['active', 'inactive']);
  });
});
