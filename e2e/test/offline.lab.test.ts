// A day without network, and a wrong clock: on a machine with its own clock.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { build } from '../lab/builds.ts';
import { installed, isOnline, isOnlineSince, mainPid, telling, untilRuns } from '../lab/installed.ts';
import { eventually, virtualMachine } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';
import { OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';

const dayMs = 86_400_000;

test('a day without a network, and clocks that are decades off', { timeout: 3_600_000 }, async (t) => {
  // A validity like a public authority's: a clock that is years off rejects it.
  const now = systemClock.wall();
  await using site = await startSite({ validity: { from: now - 2 * dayMs, to: now + 90 * dayMs } });
  await site.publish(await build('platform-server', '0.1.0'), 'stable');
  await site.publish(await build('platform-agent', '0.1.0'), 'stable');
  await site.publish(await build('platform-agent', '0.1.1'));
  await using machine = await virtualMachine(site.port);
  const { partId } = await telling(machine, () => installed(site, machine, 'barn'));
  const agent = () => mainPid(machine, 'platform-agent');

  await telling(machine, async () => {
    await t.test('24 hours offline: programs run, and no line is lost', async () => {
      const kept = await mainPid(machine, 'platform-server');
      await machine.link(false);
      // Each forced restart of the agent writes its own lines; the clock advances eight hours between them.
      for (let shift = 0; shift < 3; shift++) {
        await machine.clock(`+${8 * 3600}`);
        const was = await agent();
        await machine.must(`kill -9 ${was}`);
        await eventually('the next agent is ready', 300, async () => {
          const isReady = (await machine.exec('systemctl is-active platform-agent')).stdout.trim() === 'active';
          return isReady && ![0, was].includes(await agent()) ? true : undefined;
        });
      }
      assert.equal(await mainPid(machine, 'platform-server'), kept);
      await site.until(partId, 'offline in the app', 300, ({ onlineState }) => onlineState === OnlineState.OFFLINE);
      const before = (await site.logs(partId)).filter((line) => line === 'platform agent started').length;
      const { seconds } = await timed(async () => {
        const linked = systemClock.wall();
        await machine.link(true);
        await site.until(partId, 'online again', 600, isOnlineSince(linked));
        await eventually('the lines of the three starts', 300, async () =>
          (await site.logs(partId)).filter((line) => line === 'platform agent started').length >= before + 3
            ? true
            : undefined,
        );
      });
      const lines = await site.logs(partId);
      assert.equal(lines.filter((line) => line === 'platform agent started').length, before + 3, 'each once');
      assert.ok(!lines.some((line) => /lines? (were )?dropped/.test(line)));
      await keep(
        '24 hours without a network (clock moved): until online with all lines',
        'vm',
        seconds,
        'the machine server kept its pid',
      );
    });

    await t.test('the clock goes to 1970 while it runs: online, and an update works', async () => {
      await machine.clock('86400');
      const restarted = systemClock.wall();
      const { seconds } = await timed(async () => {
        await machine.must('systemctl restart platform-agent', 300);
        await site.until(partId, 'online', 600, isOnlineSince(restarted));
        await site.configure(partId, {
          version_control: { agent: '0.1.1' },
          advanced_settings: { agent_auto_restart: true },
        });
        await untilRuns(machine, 'platform-agent', '0.1.1', 900);
        await site.until(partId, 'online', 600, isOnline);
      });
      assert.match(await machine.must('date -u +%Y'), /^1970/);
      await keep('clock in 1970: restart and update of the agent', 'vm', seconds);
    });

    for (const year of [2000, 2051]) {
      await t.test(`the clock goes to ${year} while it runs: online after a restart`, async () => {
        await machine.clock(String(Date.UTC(year, 5, 1) / 1000));
        const restarted = systemClock.wall();
        const { seconds } = await timed(async () => {
          await machine.must('systemctl restart platform-agent', 300);
          await site.until(partId, 'online', 600, isOnlineSince(restarted));
        });
        assert.match(await machine.must('date -u +%Y'), new RegExp(`^${year}`));
        await site.until(
          partId,
          'the app says so',
          120,
          ({ report }) => report?.conditions.some(({ code }) => code === 'CLOCK_WRONG') === true,
        );
        await keep(`clock in ${year}: restart of the agent, until online over TLS`, 'vm', seconds);
      });
    }

    await t.test('a start with a clock in 1970', async () => {
      await machine.kill();
      const killed = systemClock.wall();
      const { seconds } = await timed(async () => {
        await machine.up('1970-01-02T00:00:00');
        await site.until(partId, 'online', 600, isOnlineSince(killed));
      });
      await keep(
        'boot with a battery clock in 1970, until online',
        'vm',
        seconds,
        `the system says ${await machine.must('date -u +%F')}`,
      );
    });
  });
});
