import type { PlatformClient } from '@platform/client';
import { type Clock, errorText, within } from '@platform/kit';

/** What the platform needs before it is usable. */
export interface Needs {
  /** Publishes only missing releases. */
  publish(): Promise<void>;
  look(): Promise<Found>;
}
export interface Found {
  /** Phrases: what prevents the installation of machines from here, or the execution of jobs. */
  missing: string[];
  /** Sentences: limitations of a usable platform. */
  notices: string[];
}

const reportAfterMs = 15_000;
const shortestPauseMs = 250;
const longestPauseMs = 10_000;

/**
 * Retries until nothing is missing; reports the missing parts if that takes long.
 *
 * @returns the notices of the last check; undefined if `signal` aborted first.
 */
export async function untilReady(
  { publish, look }: Needs,
  { clock, signal, say }: { clock: Clock; signal: AbortSignal; say: (text: string) => void },
): Promise<string[] | undefined> {
  const began = clock.now();
  let reported = '';
  let isPublished = false;
  for (let pauseMs = shortestPauseMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const missing: string[] = [];
    try {
      if (!isPublished) await publish();
      isPublished = true;
      const observed = await look();
      if (observed.missing.length === 0) return observed.notices;
      missing.push(...observed.missing);
    } catch (error) {
      const what = isPublished ? 'the management server does not answer' : 'machine server and agent are not released';
      missing.push(`${what} (${errorText(error)})`);
    }
    const text = `Not ready yet: ${missing.join('; ')}. It is tried again.`;
    if (clock.now() - began >= reportAfterMs && text !== reported && !signal.aborted) {
      say(text);
      reported = text;
    }
    await clock.sleep(pauseMs, signal);
  }
  return undefined;
}

const answerMs = 5_000;

/** @param of - `localUrl` on loopback; `hasRunner`: a runner was started here. */
export async function lookAt(
  { releaseClient, runnerClient }: Pick<PlatformClient, 'releaseClient' | 'runnerClient'>,
  of: { localUrl: string; organizationId: string; hasRunner: boolean; clock: Clock },
): Promise<Found> {
  const { missing, notices } = await within(answerMs, { what: '/readyz', clock: of.clock }, async (signal) =>
    readinessOf(await (await fetch(`${of.localUrl}/readyz`, { signal })).text()),
  );
  for (const program of ['platform-agent', 'platform-server']) {
    const releases = await releaseClient.listReleases(program);
    if (!releases.some(({ channels }) => channels.includes('stable'))) missing.push(`${program} is not released`);
  }
  if (of.hasRunner) {
    const { runners } = await runnerClient.listRunners({ organizationId: of.organizationId });
    const online = runners.filter((one) => one.online);
    if (online.length === 0) missing.push('no runner is online, so no training job runs');
    else if (online.every(({ noScriptsBecause }) => noScriptsBecause !== ''))
      notices.push(`Training scripts are refused: ${online[0]?.noScriptsBecause}`);
  }
  return { missing, notices };
}

/** Parses the lines of `/readyz`: `problem: …` affects every machine, `notice: …` some. */
export function readinessOf(text: string): Found {
  const after = (mark: string): string[] =>
    text
      .split('\n')
      .filter((line) => line.startsWith(mark))
      .map((line) => line.slice(mark.length));
  return { missing: after('problem: ').map((line) => line.replace(/\.$/, '')), notices: after('notice: ') };
}
