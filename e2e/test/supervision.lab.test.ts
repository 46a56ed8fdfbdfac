// The agent crashes, hangs, or is stopped. On a machine with systemd.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { build } from '../lab/builds.ts';
import { installed, isOnlineSince, mainPid, telling } from '../lab/installed.ts';
import { container, eventually } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';

test('agent and machine server under systemd', { timeout: 1_800_000 }, async (t) => {
  await using site = await startSite();
  await site.publish(await build('platform-server', '0.1.0'), 'stable');
  await site.publish(await build('platform-agent', '0.1.0'), 'stable');
  await using machine = await container(site.port);
  const { partId } = await telling(machine, () => installed(site, machine, 'barn'));
  const agent = () => mainPid(machine, 'platform-agent');
  const server = () => mainPid(machine, 'platform-server');
  /** The moment from which on the app's status counts. */
  let sinceMs = 0;
  const happens = async (command: string) => {
    sinceMs = systemClock.wall();
    await machine.must(command, 300);
  };
  const onlineAgain = () => site.until(partId, 'online again', 180, isOnlineSince(sinceMs));
  const logged = async (words: RegExp) => {
    await eventually(`the app has a line like ${String(words)}`, 120, async () =>
      (await site.logs(partId)).some((line) => words.test(line)) ? true : undefined,
    );
  };
  const anotherAgent = (than: number) =>
    eventually('another agent', 300, async () => {
      const pid = await agent();
      return pid !== 0 && pid !== than ? pid : undefined;
    });

  await telling(machine, async () => {
    await t.test('SIGKILL: the next agent adopts the machine server', async () => {
      const [was, kept] = [await agent(), await server()];
      const { seconds } = await timed(async () => {
        await happens(`kill -9 ${was}`);
        await anotherAgent(was);
        await onlineAgain();
      });
      assert.equal(await server(), kept);
      await logged(/adopted/i);
      await keep(
        'agent killed: until the next one runs and is online',
        'container',
        seconds,
        'the machine server kept its pid',
      );
    });

    await t.test('hanging: the watchdog ends it, the next one adopts the machine server', async () => {
      const [was, kept] = [await agent(), await server()];
      const { seconds } = await timed(async () => {
        await happens(`kill -STOP ${was}`);
        await anotherAgent(was);
        await onlineAgain();
      });
      assert.equal(await server(), kept);
      await keep(
        'agent frozen: until the watchdog has another one online',
        'container',
        seconds,
        'the machine server kept its pid',
      );
    });

    await t.test('lines that are slow to mask do not hold the agent until its watchdog ends it', async () => {
      const was = await agent();
      // As the machine server would write them: many more than its budget lets through, and one that says they were read.
      const output = `/proc/${await server()}/fd/2`;
      const { seconds } = await timed(async () => {
        await machine.must(
          `line="$(printf 'a-%.0s' $(seq 32000))=x"; { for i in $(seq 64); do echo "$line"; done; sleep 40; echo 'after the slow lines'; } > ${output}`,
          200,
        );
        await logged(/after the slow lines/);
      });
      assert.equal(await agent(), was);
      await keep('64 lines of 64 KB that are slow to mask, until a later line is in the app', 'container', seconds);
    });

    await t.test('the machine server killed: started again', async () => {
      const was = await server();
      const { seconds } = await timed(async () => {
        await happens(`kill -9 ${was}`);
        await eventually('another server', 120, async () => {
          const pid = await server().catch(() => 0);
          return pid !== 0 && pid !== was ? pid : undefined;
        });
        await onlineAgain();
      });
      await keep('machine server killed: until another one is ready', 'container', seconds);
    });

    await t.test('systemctl restart restarts both; stop stops both; start starts both', async () => {
      const were = [await agent(), await server()];
      await happens('systemctl restart platform-agent');
      await onlineAgain();
      // The first contact can precede the start of the machine server.
      await eventually('a machine server', 120, async () => ((await server()) === 0 ? undefined : true));
      const are = [await agent(), await server()];
      assert.ok(are[0] !== were[0] && are[1] !== were[1], `${were.join()} → ${are.join()}`);
      const { seconds } = await timed(() => machine.must('systemctl stop platform-agent', 300));
      assert.deepEqual((await machine.exec('pgrep -f "/opt/[p]latform/.*platform-"')).stdout, '');
      await happens('systemctl start platform-agent');
      await onlineAgain();
      await keep('systemctl stop platform-agent, both are gone', 'container', seconds);
    });
  });
});
