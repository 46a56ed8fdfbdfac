// The systemd unit is as new as the agent: on a machine with systemd, with successful updates and a failed one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { build } from '../lab/builds.ts';
import { installed, isOnline, isOnlineSince, runningVersion, statusOf, telling, untilRuns } from '../lab/installed.ts';
import { container, eventually } from '../lab/machine.ts';
import { keep } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';

const unit = '/etc/systemd/system/platform-agent.service';

test('the unit of the agent is renewed with its version', { timeout: 1_800_000 }, async (t) => {
  await using site = await startSite();
  const first = await build('platform-agent', '0.1.0');
  const second = await build('platform-agent', '0.1.1');
  const bad = await build('platform-agent', '0.1.2', { fault: 'crash' });
  const server = await build('platform-server', '0.1.0');
  for (const one of [first, server]) await site.publish(one, 'stable');
  for (const one of [second, bad]) await site.publish(one);
  await using machine = await container(site.port);
  const { partId } = await telling(machine, () => installed(site, machine, 'barn'));
  const want = (agent: string) =>
    site.configure(partId, { version_control: { agent }, advanced_settings: { agent_auto_restart: true } });
  const wanted = () => machine.must('/opt/platform/bin/platform-agent unit');
  const onDisk = () => machine.must(`cat ${unit}`);
  const limit = () => machine.must('systemctl show -P LimitCORE platform-agent');
  const journal = () => machine.must('journalctl -u platform-agent -o cat --no-pager');
  const isProven = async () =>
    (await machine.exec('test ! -e /opt/platform/state/platform-agent.trial')).code === 0 ? true : undefined;
  /** The unit as an agent of an earlier version wrote it, without limits. */
  const older = () =>
    machine.must(
      `sed -i /^LimitCORE=/d ${unit} && sha256sum ${unit} | cut -d' ' -f1 >> /opt/platform/state/unit.written && systemctl daemon-reload`,
    );

  await telling(machine, async () => {
    await t.test('installed: the unit is the one that this version wants', async () => {
      assert.equal(await onDisk(), await wanted());
      assert.equal(await limit(), '0');
    });

    await t.test('an update: the new unit, and what the administrator added stays', async () => {
      await older();
      assert.notEqual(await limit(), '0');
      await machine.must(
        `mkdir -p ${unit}.d && printf '[Service]\\nEnvironment=ADDED=yes\\n' > ${unit}.d/own.conf && systemctl daemon-reload`,
      );
      await want('0.1.1');
      const seconds = await untilRuns(machine, 'platform-agent', '0.1.1', 300);
      assert.equal(await onDisk(), await wanted(), 'while the version is on trial');
      assert.equal(await limit(), '0');
      assert.match(await machine.must('systemctl show -P DropInPaths platform-agent'), /own\.conf/);
      const environment = await machine.must(
        'tr "\\0" "\\n" < /proc/$(systemctl show -P MainPID platform-agent)/environ',
      );
      assert.match(environment, /^ADDED=yes$/m);
      assert.match(await journal(), /the unit is the one of the new version/);
      await eventually('it has passed the health check', 600, isProven);
      const reports = ({ report }: Machine) => report?.agent?.runningVersion === '0.1.1';
      await site.until(partId, 'online', 120, (found) => isOnline(found) && reports(found));
      assert.equal(
        (await machine.exec('ls /opt/platform/state/unit.before /run/systemd/system/platform-agent-check*')).stdout,
        '',
      );
      await keep('agent: update with a new unit, until it runs', 'container', seconds);
    });

    await t.test('a version that crashes: its unit goes with it', async () => {
      await older();
      const before = await onDisk();
      await want('0.1.2');
      await eventually('the new unit is there', 300, async () => ((await onDisk()) !== before ? true : undefined));
      assert.match(await machine.must('cat /opt/platform/state/unit.before'), /WantedBy=multi-user.target/);
      await eventually('the version before is back', 300, async () =>
        (await machine.exec('grep -q ^0.1.2- /opt/platform/state/platform-agent.bad')).code === 0 ? true : undefined,
      );
      await eventually('it runs', 120, async () =>
        (await runningVersion(machine, 'platform-agent')) === '0.1.1' ? true : undefined,
      );
      assert.match(await journal(), /the unit of the version before is back/);
      await want('0.1.1');
      await site.until(partId, 'online', 180, isOnline);
      // The restored version renews the older unit itself.
      await eventually('renewed', 120, async () => ((await onDisk()) === (await wanted()) ? true : undefined));
      assert.equal(await machine.must('systemctl show -P NeedDaemonReload platform-agent'), 'no');
    });

    await t.test('a changed unit stays, and the status says so', async () => {
      await machine.must(
        `sed -i 's/^RestartSec=.*/RestartSec=7/' ${unit} && systemctl daemon-reload && systemctl restart platform-agent`,
      );
      await eventually('the status reports it', 120, async () =>
        JSON.stringify(await statusOf(machine)).includes('UNIT_CHANGED') ? true : undefined,
      );
      assert.match(await onDisk(), /^RestartSec=7$/m);
    });

    await t.test('after a restart of the machine it is online', async () => {
      await machine.kill();
      const moment = systemClock.wall();
      await machine.up();
      await site.until(partId, 'online', 300, isOnlineSince(moment));
      assert.match(await onDisk(), /^RestartSec=7$/m);
    });
  });
});
