// The plug is pulled while both programs are being updated, at moments drawn by a seed, on a disk that loses what was not
// flushed. Whatever the moment: a whole version of each, and online again.
//   PLATFORM_LAB_CUTS (50), PLATFORM_LAB_SEED (drawn)
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { seededRandom } from '@platform/kit/testing';
import { type Build, build } from '../lab/builds.ts';
import { installed, isOnline, isOnlineSince, runningVersion, telling } from '../lab/installed.ts';
import { type VirtualMachine, virtualMachine } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';

const cuts = Number(process.env['PLATFORM_LAB_CUTS'] ?? 50);
const seed = Number(process.env['PLATFORM_LAB_SEED'] ?? randomInt(1_000_000));

test(`${cuts} power cuts during an update, seed ${seed}`, { timeout: 3 * 3_600_000 }, async (t) => {
  const random = seededRandom(seed);
  await using site = await startSite();
  const olds = [await build('platform-agent', '0.1.0'), await build('platform-server', '0.1.0')];
  const news = [await build('platform-agent', '0.1.1'), await build('platform-server', '0.1.1')];
  for (const one of olds) await site.publish(one, 'stable');
  for (const one of news) await site.publish(one);
  await using machine = await virtualMachine(site.port);
  const want = (partId: string, version: string) =>
    site.configure(
      partId,
      { version_control: { agent: version, 'platform-server': version } },
      // Open at all times: both may be restarted at once.
      { maintenance_window: { from: '00:00', to: '23:59' } },
    );

  const { partId, installSeconds } = await telling(machine, async () => {
    const { seconds, value } = await timed(() => installed(site, machine, 'barn'));
    await want(value.partId, '0.1.0');
    await site.until(value.partId, 'settled', 120, isOnline);
    await machine.must('systemctl stop platform-agent && sync', 300);
    await machine.save('before');
    return { partId: value.partId, installSeconds: seconds };
  });
  await keep('install by one line, until agent and machine server are online', 'vm', installSeconds);

  /** Back to 0.1.0, running and content. */
  const reset = async (): Promise<void> => {
    await want(partId, '0.1.0');
    await machine.load('before');
    const loaded = systemClock.wall();
    await machine.must('systemctl start platform-agent', 300);
    await site.until(
      partId,
      'back at 0.1.0',
      300,
      (found) => isOnlineSince(loaded)(found) && found.report?.agent?.runningVersion === '0.1.0',
    );
  };
  const updated = () =>
    site.until(
      partId,
      'both updated',
      900,
      (found) =>
        isOnline(found) &&
        found.report?.agent?.runningVersion === '0.1.1' &&
        found.report.server?.runningVersion === '0.1.1',
    );

  // How long the whole of it takes, so that the moments lie in it.
  const whole = await telling(machine, async () => {
    await reset();
    await want(partId, '0.1.1');
    return (await timed(updated)).seconds;
  });
  await keep('update of both, saved until both run and are online', 'vm', whole);

  const outcomes = new Map<string, number>();
  const back: number[] = [];
  const state = { isDone: true };
  /** After every cut, so that a run that is stopped has not been for nothing. */
  const tell = async (made: number): Promise<void> => {
    const histogram = [...outcomes].toSorted((a, b) => b[1] - a[1]).map(([what, times]) => `${times} × ${what}`);
    const slowest = Math.max(...back).toFixed(0);
    const note = `${made} cuts at moments in 0…${(whole * 1.1).toFixed(0)} s, seed ${seed}: always whole versions, always online again; at the return ${histogram.join('; ')}; online on average after the time given, at the latest after ${slowest} s`;
    await keep('power cuts during the update of both', 'vm', back.reduce((a, b) => a + b, 0) / back.length, note);
  };
  for (let cut = 1; cut <= cuts; cut++) {
    const at = random() * whole * 1.1;
    const torn = random() < 0.5 ? String(Math.floor(random() * 1e6)) : undefined;
    await t.test(`cut ${cut} at ${at.toFixed(1)} s${torn === undefined ? '' : `, torn by ${torn}`}`, () =>
      telling(machine, async () => {
        // Else the update that the last cut broke off goes on, and meets the next one.
        if (state.isDone) {
          await reset();
          await want(partId, '0.1.1');
        }
        await machine.cut(at, torn);
        const cutAt = systemClock.wall();
        const { seconds } = await timed(async () => {
          await machine.up();
          await site.until(partId, 'online again', 600, isOnlineSince(cutAt));
        });
        back.push(seconds);
        const found = await whatRuns(machine, [...olds, ...news]);
        outcomes.set(found, (outcomes.get(found) ?? 0) + 1);
        state.isDone = found === 'agent 0.1.1, server 0.1.1';
        if (cut === cuts && !state.isDone) await updated();
        await tell(cut);
      }),
    );
  }
});

/** "agent 0.1.0, server 0.1.1", after checking that both are, byte for byte, what was published. */
async function whatRuns(machine: VirtualMachine, published: readonly Build[]): Promise<string> {
  const words: string[] = [];
  for (const unit of ['platform-agent', 'platform-server'] as const) {
    const version = await runningVersion(machine, unit);
    const exe = `/proc/$(systemctl show -P MainPID ${unit})/exe`;
    // One after the other: what runs is what the link leads to, and that is what was published.
    const sha256 = await machine.must(`[ /opt/platform/bin/${unit} -ef ${exe} ] && sha256sum < ${exe} | cut -c 1-64`);
    const one = published.find((found) => found.name === unit && found.version === version);
    assert.equal(sha256, one?.sha256, `${unit} ${version} is not what was published`);
    words.push(`${unit.replace('platform-', '')} ${version}`);
  }
  return words.join(', ');
}
