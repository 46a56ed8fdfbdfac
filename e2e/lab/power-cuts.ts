// Cuts the power during updates of both programs, at seeded random moments, on a disk that loses unflushed writes.
// After any cut, each program has a complete version, and the machine comes online.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { seededRandom } from '@platform/kit/testing';
import { type Build, build } from './builds.ts';
import { installed, isOnline, isOnlineSince, telling } from './installed.ts';
import { eventually, type LabMachine } from './machine.ts';
import { keep, timed } from './results.ts';
import { type Site, startSite } from './site.ts';
import { updateOfBoth } from './update-both.ts';

export interface Plug {
  machine: LabMachine;
  where: 'container' | 'vm';
  /** Cuts after this many seconds; torn: this seed selects the half of unflushed writes that survives. */
  cut(afterSeconds: number, torn: string | undefined): Promise<void>;
  /** Saves the machine with its agent stopped; `load` restores it and leaves it running. */
  save(): Promise<void>;
  load(): Promise<void>;
}

/** One more interruption would quarantine the version, and the update would never end. */
const toleratedCuts = 5;

const both = (version: string): string => `agent ${version}, server ${version}`;

/** Starts a server with the versions 0.1.0 (stable) and 0.1.1 of both programs. */
async function siteOfTwo(): Promise<{ site: Site; published: Build[] }> {
  const site = await startSite();
  const names = ['platform-agent', 'platform-server'] as const;
  const olds = [await build(names[0], '0.1.0'), await build(names[1], '0.1.0')];
  const news = [await build(names[0], '0.1.1'), await build(names[1], '0.1.1')];
  for (const one of olds) await site.publish(one, 'stable');
  for (const one of news) await site.publish(one);
  return { site, published: [...olds, ...news] };
}

/** The steps of an update of both programs from 0.1.0 to 0.1.1. */
function updateOf(site: Site, partId: string, load: Plug['load']) {
  const { want, updated } = updateOfBoth(site, partId);
  return {
    want,
    /** Returns to 0.1.0, running and healthy. */
    reset: async (): Promise<void> => {
      await want('0.1.0');
      await load();
      const loaded = systemClock.wall();
      await site.until(
        partId,
        'back at 0.1.0',
        600,
        (found) => isOnlineSince(loaded)(found) && found.report?.agent?.runningVersion === '0.1.0',
      );
    },
    updated: () => updated('0.1.1'),
  };
}

interface CutResults {
  readonly where: Plug['where'];
  readonly seed: number;
  /** Duration of the update without a cut. */
  readonly wholeSeconds: number;
  /** Seconds from power to online, one for each cut. */
  readonly back: number[];
  /** What ran after a cut → number of cuts. */
  readonly outcomes: Map<string, number>;
}

/** Called after every cut, so that an aborted run leaves its results. */
async function keepCuts({ where, seed, wholeSeconds, back, outcomes }: CutResults): Promise<void> {
  const histogram = [...outcomes].toSorted((a, b) => b[1] - a[1]).map(([what, count]) => `${count} × ${what}`);
  const slowest = Math.max(...back).toFixed(0);
  const note = `${back.length} cuts at moments in 0…${(wholeSeconds * 1.1).toFixed(1)} s, seed ${seed}: always whole versions, always online again; what ran then: ${histogram.join('; ')}; the time is the mean from power to online, the longest ${slowest} s`;
  await keep('power cuts during the update of both', where, back.reduce((a, b) => a + b, 0) / back.length, note);
}

export async function cutsDuringUpdate(
  t: TestContext,
  { cuts, seed }: { cuts: number; seed: number },
  plugAt: (serverPort: number) => Promise<Plug>,
): Promise<void> {
  const random = seededRandom(seed);
  const { site, published } = await siteOfTwo();
  await using _site = site;
  const { machine, where, ...plug } = await plugAt(site.port);
  await using _machine = machine;
  const made = await site.createMachine('barn');
  const { partId } = made;
  const { want, reset, updated } = updateOf(site, partId, plug.load);
  await telling(machine, async () => {
    await installed(site, machine, made);
    await want('0.1.0');
    await site.until(partId, 'settled', 120, isOnline);
    await plug.save();
  });

  // Measures the whole update, so that the cuts fall into it.
  const wholeSeconds = await telling(machine, async () => {
    await reset();
    await want('0.1.1');
    return (await timed(updated)).seconds;
  });
  await keep('update of both, saved until both run and are online', where, wholeSeconds);

  const results: CutResults = { where, seed, wholeSeconds, back: [], outcomes: new Map() };
  const state = { isDone: true, unfinished: 0 };
  for (let cut = 1; cut <= cuts; cut++) {
    const at = random() * wholeSeconds * 1.1;
    const torn = random() < 0.5 ? String(Math.floor(random() * 1e6)) : undefined;
    await t.test(`cut ${cut} at ${at.toFixed(1)} s${torn === undefined ? '' : `, torn by ${torn}`}`, () =>
      telling(machine, async () => {
        // Otherwise the update that the last cut interrupted continues, and the next cut hits it.
        if (state.isDone || state.unfinished >= toleratedCuts) {
          await reset();
          await want('0.1.1');
          state.unfinished = 0;
        }
        await plug.cut(at, torn);
        const cutAt = systemClock.wall();
        const { seconds } = await timed(async () => {
          await machine.up();
          await site.until(partId, 'online again', 600, isOnlineSince(cutAt));
        });
        results.back.push(seconds);
        const found = await whatRuns(machine, published);
        results.outcomes.set(found, (results.outcomes.get(found) ?? 0) + 1);
        state.isDone = found === both('0.1.1');
        if (!state.isDone) state.unfinished += 1;
        if (cut === cuts && !state.isDone) await updated();
        await keepCuts(results);
      }),
    );
  }
}

/**
 * Returns "agent 0.1.0, server 0.1.1" after it checks that the running and the next version match the published bytes.
 * Repeats the check if a program is just being replaced.
 */
async function whatRuns(machine: LabMachine, published: readonly Build[]): Promise<string> {
  const programs: string[] = [];
  for (const name of ['platform-agent', 'platform-server'] as const) {
    const exe = `/proc/$(systemctl show -P MainPID ${name})/exe`;
    const [running = '', linked = ''] = await eventually(`${name} runs`, 120, async () => {
      const hashes = await machine.exec(`sha256sum < ${exe} && sha256sum < /opt/platform/bin/${name}`);
      return hashes.code === 0 ? hashes.stdout.split('\n').map((line) => line.slice(0, 64)) : undefined;
    });
    const of = (sha256: string) => published.find((one) => one.name === name && one.sha256 === sha256);
    assert.ok(of(linked), `the link of ${name} leads to something that was not published`);
    const runs = of(running);
    assert.ok(runs, `${name} is not what was published`);
    programs.push(`${name.replace('platform-', '')} ${runs.version}`);
  }
  return programs.join(', ');
}
