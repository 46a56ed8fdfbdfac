/** Program versions according to https://semver.org. */

/** Source of a regular expression: 1.4.0, 1.4.0-rc.1, 1.4.0+build. */
export const semanticVersion = '\\d+\\.\\d+\\.\\d+(?:-[0-9A-Za-z.-]+)?(?:\\+[0-9A-Za-z.-]+)?';

const whole = new RegExp(`^${semanticVersion}$`);
export const isSemanticVersion = (text: string): boolean => whole.test(text);

/** Compares major, minor and patch only: a pre-release counts as its release. False for invalid versions. */
export function isBefore(version: string, other: string): boolean {
  const [a, b] = [numbersOf(version), numbersOf(other)];
  if (!a || !b) return false;
  const at = a.findIndex((part, index) => part !== b[index]);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}

const numbersOf = (text: string): number[] | undefined => /^v?(\d+)\.(\d+)\.(\d+)/.exec(text)?.slice(1).map(Number);
