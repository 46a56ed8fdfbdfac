import { statSync } from 'node:fs';
import path from 'node:path';

/** The checkout that this program runs from. */
export const checkout = path.resolve(import.meta.dirname, '../../..');

export const isRoot = (): boolean => process.getuid?.() === 0;

/** Whether every user may enter `folder` and all its parents. */
export function isReachable(folder: string): boolean {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const stat = statSync(at, { throwIfNoEntry: false });
    if (stat && (stat.mode & 0o001) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}

/**
 * Default data folder: `.platform` in the checkout. Root runs the database and the demo machine as other users. If they
 * cannot enter the checkout (mode 700), it is a folder below /var/lib. An installed server has a folder of its own.
 */
export function defaultDataFolder(): string {
  if (checkout.startsWith('/opt/platform-management/')) return '/var/lib/platform-management';
  if (isRoot() && !isReachable(checkout)) return '/var/lib/platform';
  return path.join(checkout, '.platform');
}

/** Folder of the release signing keys of a platform that was started from a checkout. */
export const releaseKeyFolder = (dataFolder: string): string => path.join(dataFolder, 'release-keys');
