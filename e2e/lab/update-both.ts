// An update of both programs, which the agent may activate at once.
import { isOnline } from './installed.ts';
import type { Site } from './site.ts';

export interface UpdateOfBoth {
  /** Saves this version as desired. */
  want(version: string): Promise<void>;
  /** Waits until both run this version and are online. */
  updated(version: string): Promise<unknown>;
}

export function updateOfBoth(site: Site, partId: string): UpdateOfBoth {
  return {
    want: (version) =>
      site.configure(
        partId,
        { version_control: { agent: version, 'platform-server': version } },
        // Open at all times: the agent may restart both programs at once.
        { maintenance_window: { from: '00:00', to: '23:59' } },
      ),
    updated: (version) =>
      site.until(
        partId,
        'both updated',
        900,
        (found) =>
          isOnline(found) &&
          found.report?.agent?.runningVersion === version &&
          found.report.server?.runningVersion === version,
      ),
  };
}
