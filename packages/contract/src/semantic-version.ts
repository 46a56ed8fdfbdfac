/** Versions of programs, as https://semver.org has them. */

/** As the source of a regular expression: 1.4.0, 1.4.0-rc.1, 1.4.0+build. */
export const semanticVersion = '\\d+\\.\\d+\\.\\d+(?:-[0-9A-Za-z.-]+)?(?:\\+[0-9A-Za-z.-]+)?';

const whole = new RegExp(`^${semanticVersion}$`);
export const isSemanticVersion = (text: string): boolean => whole.test(text);

/**
 * Whether a version comes before another one by major, minor and patch alone: builds on the way to a version count as that
 * version. False for texts that are not versions.
 */
export function isBefore(version: string, other: string): boolean {
  const [a, b] = [numbersOf(version), numbersOf(other)];
  if (!a || !b) return false;
  const at = a.findIndex((part, index) => part !== b[index]);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}

const numbersOf = (text: string): number[] | undefined => /^v?(\d+)\.(\d+)\.(\d+)/.exec(text)?.slice(1).map(Number);
