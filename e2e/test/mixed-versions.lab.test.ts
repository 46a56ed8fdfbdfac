// A fleet of the release before: newer agents under its server, its agents under today's server, its data folder, and
// updates between both in each direction.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { build } from '../lab/builds.ts';
import { installed, isOnline, isOnlineSince, mainPid, telling, untilRuns } from '../lab/installed.ts';
import { container, eventually, type LabMachine } from '../lab/machine.ts';
import { checkoutOfRelease } from '../lab/older-checkout.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';
import { isConfigInEffect } from '../src/config-in-effect.ts';
import { checkout } from '../src/up-process.ts';

test('machines and server of the release before', { timeout: 2_400_000 }, async (t) => {
  const older = await checkoutOfRelease();
  const programs = ['platform-agent', 'platform-server'] as const;
  await using site = await startSite({ from: older });
  for (const name of programs) await site.publish(await build(name, '0.1.0', { from: older }), 'stable');
  for (const name of programs) await site.publish(await build(name, '0.1.1'));
  await using barn = await container(site.port);
  await using mill = await container(site.port);
  const parts = new Map<LabMachine, string>();
  const partOf = (on: LabMachine): string => parts.get(on) ?? '';

  let isDebug = false;
  /** Saves a configuration that differs from the one before. */
  const save = async (on: LabMachine, agent: string, server: string): Promise<void> => {
    isDebug = !isDebug;
    await site.configure(partOf(on), {
      version_control: { agent, 'platform-server': server },
      advanced_settings: { agent_auto_restart: true, debug: isDebug },
    });
  };
  /** Saves a configuration and waits until the machine has it in effect. */
  const apply = async (on: LabMachine, agent: string, server: string): Promise<void> => {
    await save(on, agent, server);
    const { wantedRevision } = await site.machine(partOf(on));
    const isInEffect = `revision ${wantedRevision} is in effect`;
    await site.until(partOf(on), isInEffect, 180, (found) => isOnline(found) && isConfigInEffect(found));
  };
  /** Restarts the machine server on the order of the app, and waits for the log lines of its start. */
  const restart = async (on: LabMachine): Promise<void> => {
    const before = (await site.logs(partOf(on))).length;
    const pid = await mainPid(on, 'platform-server');
    await site.fleet.restartPart({ partId: partOf(on) });
    await eventually('another process', 180, async () => {
      const now = await mainPid(on, 'platform-server');
      return now !== 0 && now !== pid ? true : undefined;
    });
    await site.until(partOf(on), 'online again', 180, isOnline);
    await eventually('log lines of the restart', 180, async () =>
      (await site.logs(partOf(on))).length > before ? true : undefined,
    );
  };

  await telling(barn, () =>
    telling(mill, async () => {
      await t.test('both machines come online with the older programs', async () => {
        parts.set(barn, (await installed(site, barn, 'barn')).partId);
        parts.set(mill, (await installed(site, mill, 'mill')).partId);
        for (const on of [barn, mill]) await apply(on, '0.1.0', '0.1.0');
      });

      await t.test("today's programs under the older server", async () => {
        const { seconds } = await timed(async () => {
          await save(mill, '0.1.1', '0.1.1');
          await untilRuns(mill, 'platform-agent', '0.1.1', 180);
        });
        await site.until(partOf(mill), 'staged', 180, ({ report }) => report?.server?.installedVersion === '0.1.1');
        await restart(mill);
        await untilRuns(mill, 'platform-server', '0.1.1', 180);
        await apply(mill, '0.1.1', '0.1.1');
        await keep('older server: update to the newer agent, saved until it runs', 'container', seconds);
      });

      const lines = new Map<LabMachine, string[]>();
      await t.test("today's server takes over the data folder; both machines come back by themselves", async () => {
        for (const on of [barn, mill]) lines.set(on, await site.logs(partOf(on)));
        const pids = await Promise.all([barn, mill].map((on) => mainPid(on, 'platform-agent')));
        const { seconds } = await timed(async () => {
          await site.replaceServer(checkout);
          const since = systemClock.wall();
          for (const on of [barn, mill]) await site.until(partOf(on), 'online', 300, isOnlineSince(since));
        });
        assert.deepEqual(await Promise.all([barn, mill].map((on) => mainPid(on, 'platform-agent'))), pids);
        for (const on of [barn, mill]) {
          const before = lines.get(on) ?? [];
          assert.deepEqual((await site.logs(partOf(on))).slice(0, before.length), before, 'the log lines of before');
        }
        await keep("older data folder: today's server, until both machines are online", 'container', seconds);
      });

      await t.test("an older agent under today's server: configuration, restart, log lines", async () => {
        await apply(barn, '0.1.0', '0.1.0');
        await restart(barn);
        await apply(mill, '0.1.1', '0.1.1');
      });

      await t.test('the older agent updates itself to today’s, back, and again', async () => {
        const server = await mainPid(barn, 'platform-server');
        for (const version of ['0.1.1', '0.1.0', '0.1.1']) {
          const { seconds } = await timed(async () => {
            await apply(barn, version, '0.1.0');
            await untilRuns(barn, 'platform-agent', version, 180);
          });
          await site.until(partOf(barn), `reports ${version}`, 180, (found) => {
            const agent = found.report?.agent;
            return isOnline(found) && agent?.runningVersion === version;
          });
          assert.equal(await mainPid(barn, 'platform-server'), server, 'the machine server keeps its pid');
          await keep(`older and newer agent: to ${version}`, 'container', seconds);
        }
        await restart(barn);
      });
    }),
  );
});
