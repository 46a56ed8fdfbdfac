import type { PlatformClient } from '@platform/client';
import { type Clock, errorText } from '@platform/kit';

/** What a platform needs before somebody can use it. */
export interface Needs {
  /** Does only what is missing. */
  publish(): Promise<void>;
  /** Phrases: what keeps a machine from being installed from here, or a job from running. */
  look(): Promise<string[]>;
}

const tellAfterMs = 15_000;
const shortestPauseMs = 250;
const longestPauseMs = 10_000;

/**
 * Tries until nothing is missing, and tells what is when that takes long. @returns false: `signal` came first.
 */
export async function untilReady(
  { publish, look }: Needs,
  { clock, signal, say }: { clock: Clock; signal: AbortSignal; say: (text: string) => void },
): Promise<boolean> {
  const began = clock.now();
  let told = '';
  let isPublished = false;
  for (let pauseMs = shortestPauseMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const missing: string[] = [];
    try {
      if (!isPublished) await publish();
      isPublished = true;
      missing.push(...(await look()));
    } catch (error) {
      const what = isPublished ? 'the management server does not answer' : 'machine server and agent are not released';
      missing.push(`${what} (${errorText(error)})`);
    }
    if (missing.length === 0) return true;
    const text = `Not ready yet: ${missing.join('; ')}. It is tried again.`;
    if (clock.now() - began >= tellAfterMs && text !== told && !signal.aborted) {
      say(text);
      told = text;
    }
    await clock.sleep(pauseMs, signal);
  }
  return false;
}

/** @param hasRunner - one was started here. */
export async function missingFor(
  { releaseClient, runnerClient }: Pick<PlatformClient, 'releaseClient' | 'runnerClient'>,
  organizationId: string,
  hasRunner: boolean,
): Promise<string[]> {
  const missing: string[] = [];
  for (const program of ['platform-agent', 'platform-server']) {
    const releases = await releaseClient.listReleases(program);
    if (!releases.some(({ channels }) => channels.includes('stable'))) missing.push(`${program} is not released`);
  }
  if (hasRunner) {
    const { runners } = await runnerClient.listRunners({ organizationId });
    if (!runners.some(({ online }) => online)) missing.push('no runner is online, so no training job runs');
  }
  return missing;
}
