// The disk fills to the last block, and the power fails. On a machine with systemd and a real ext4.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentStatus } from '@platform/contract/machine/agent-status';
import { type Machine, UpdateState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { build } from '../lab/builds.ts';
import { installed, isOnlineSince, mainPid, runningVersion, telling, untilRuns } from '../lab/installed.ts';
import { cuttableContainer, eventually } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';

test(
  'a full disk: an update is refused and reported, both programs start, and it goes on when there is room',
  {
    timeout: 1_800_000,
  },
  async () => {
    await using site = await startSite();
    await site.publish(await build('platform-server', '0.1.0'), 'stable');
    await site.publish(await build('platform-agent', '0.1.0'), 'stable');
    await site.publish(await build('platform-agent', '0.1.1'));
    await using machine = await cuttableContainer(site.port);
    const { partId } = await telling(machine, () => installed(site, machine, 'barn'));
    // A power cut gives blocks back (writes that were not yet on the disk), and so may the agent once it runs. That the
    // disk is full when it starts is therefore ensured at each start, by a unit before it.
    await machine.must(`cat > /etc/systemd/system/fill.service <<'unit'
[Unit]
Before=platform-agent.service
RequiresMountsFor=/opt/platform
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/fill
[Install]
WantedBy=multi-user.target
unit
cat > /usr/local/sbin/fill <<'script'
#!/bin/sh
cd /opt/platform || exit 1
dd if=/dev/zero of=filler2 oflag=append conv=notrunc bs=4k status=none
sync
# Not even root, for whom ext4 reserves blocks, can write one more block.
if head -c 4096 /dev/zero > probe && sync probe; then full=no; else full=yes; fi
rm -f probe
echo $full > /run/full
script
chmod +x /usr/local/sbin/fill`);
    /** What the last run of the filler found when it was done, in this boot. */
    const wasFull = async (): Promise<boolean> => (await machine.must('cat /run/full')).trim() === 'yes';

    await telling(machine, async () => {
      await machine.must(
        'cd /opt/platform && fallocate -l $(( $(df --output=avail -B1 . | tail -1) - 60000000 )) filler && sync',
      );
      const pid = await mainPid(machine, 'platform-agent');
      await site.configure(partId, {
        version_control: { agent: '0.1.1' },
        advanced_settings: { agent_auto_restart: true },
      });
      const refused = ({ report }: Machine) => {
        const update = report?.agent?.lastUpdate;
        return update?.state === UpdateState.FAILED && update.code === 'DISK_FULL';
      };
      await site.until(partId, 'refused for want of space', 120, refused);
      assert.equal(await mainPid(machine, 'platform-agent'), pid);
      assert.equal(await machine.must('ls -d /opt/platform/versions/*/ | wc -l'), '2');

      // Full to the last block, including the blocks that ext4 reserves for root.
      await machine.must('systemctl daemon-reload && systemctl enable --now fill', 300);
      assert.ok(await wasFull(), 'it is full');
      const again = async (what: string, f: () => Promise<unknown>): Promise<number> => {
        const momentMs = systemClock.wall();
        const { seconds } = await timed(async () => {
          await f();
          await site.until(partId, `online after ${what}`, 180, isOnlineSince(momentMs));
        });
        assert.ok(await wasFull(), `the disk was full at the start after ${what}`);
        // The first contact with the management server can precede the report that the machine server runs.
        await eventually(`the agent answers after ${what}, and its server runs`, 120, async () => {
          const { stdout } = await machine.exec('/opt/platform/bin/platform-agent status --json');
          const { is_running, server } = JSON.parse(stdout) as AgentStatus;
          return is_running && server.at === 'running' ? true : undefined;
        });
        return seconds;
      };
      const restart = await again('a restart', () =>
        machine.must('rm /run/full; systemctl restart fill && systemctl restart platform-agent', 300),
      );
      const before = await machine.must('journalctl -u platform-agent --no-pager');
      assert.doesNotMatch(before, /did not end in order/, 'the report knows that it was stopped on request');
      await keep('disk full to the last block: restart until online', 'container', restart);
      await machine.cut(); // before the clock starts: a contact from before the cut does not count
      const boot = await again('a power cut', () => machine.up());
      await keep('disk full to the last block: power back until online', 'container', boot);

      await machine.must('systemctl disable -q fill; rm /opt/platform/filler*');
      await machine.must('/opt/platform/bin/platform-agent update', 300);
      const seconds = await untilRuns(machine, 'platform-agent', '0.1.1', 300);
      assert.equal(await runningVersion(machine, 'platform-agent'), '0.1.1');
      await keep('disk full: an update is refused; with room again until the new version runs', 'container', seconds);
    });
  },
);
