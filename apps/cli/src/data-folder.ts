import { statSync } from 'node:fs';
import path from 'node:path';

/** The checkout this program runs from. */
export const checkout = path.resolve(import.meta.dirname, '../../..');

export const isRoot = (): boolean => process.getuid?.() === 0;

/** True when every account may pass through all folders above and including `folder`. */
export function isReachable(folder: string): boolean {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const stat = statSync(at, { throwIfNoEntry: false });
    if (stat && (stat.mode & 0o001) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}

/**
 * Where the platform keeps its files unless told otherwise: `.platform` in the checkout. Root runs database and demo
 * machine under other accounts, which a home of mode 700 locks out: then it is a folder below /var/lib.
 */
export function defaultDataFolder(): string {
  if (isRoot() && !isReachable(checkout)) return '/var/lib/platform';
  return path.join(checkout, '.platform');
}

/** Where a platform that was started from a checkout keeps the keys with which it signs its releases. */
export const releaseKeyFolder = (dataFolder: string): string => path.join(dataFolder, 'release-keys');
