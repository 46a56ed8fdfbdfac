import { within, type Clock } from '@platform/kit';
import type { Disk, Web } from '../os/ports.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { knownFile } from './layout.ts';
import { stampOf } from './receive.ts';

const stampAgeMs = 120_000;
const stampWaitMs = 15_000;

export interface Known {
  /** Id of the version that the URL returned. */
  id: string;
  /** Stamp of its content at that time. */
  stamp: string;
}

/** The versions that URLs without a hash returned. */
export interface Sources {
  /**
   * The version that this URL returned, if its source is unchanged. While it is unreachable, the known version stays
   * valid.
   */
  known(url: string, signal: AbortSignal): Promise<string | null>;
  learn(url: string, known: Known): Promise<void>;
}

const keptUrls = 10;

export function sourcesOn(disk: Disk, web: Web, clock: Clock): Sources {
  const stamps = new Map<string, { stamp: string; at: number }>();
  const read = async (): Promise<Record<string, Known>> =>
    (await readChecked(disk, knownFile, (json) => json as Record<string, Known>)).value ?? {};
  return {
    async known(url, signal) {
      const known = (await read())[url];
      if (!known) return null;
      const seen = stamps.get(url);
      if (!seen || clock.now() - seen.at >= stampAgeMs) {
        const stamp = await within(stampWaitMs, { what: 'the answer', clock, signal }, (inner) =>
          stampOf(url, { web, clock }, inner),
        ).catch(() => known.stamp);
        stamps.set(url, { stamp, at: clock.now() });
      }
      return stamps.get(url)?.stamp === known.stamp ? known.id : null;
    },
    async learn(url, known) {
      stamps.set(url, { stamp: known.stamp, at: clock.now() });
      const { [url]: _, ...others } = await read();
      await writeChecked(disk, knownFile, {
        ...Object.fromEntries(Object.entries(others).slice(1 - keptUrls)),
        [url]: known,
      });
    },
  };
}
