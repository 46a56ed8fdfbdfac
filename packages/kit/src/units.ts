/** Numbers with their unit, as users read them: the same in the command line, the agent and the web app. */

const largerUnits = ['kB', 'MB', 'GB', 'TB'];

/** "999 B", "4.2 MB", "150 GB": powers of 1000, as disks and releases are labelled. */
export function formatBytes(amount: number | bigint): string {
  const bytes = Number(amount);
  if (bytes < 1000) return `${bytes} B`;
  const step = largerUnits.findIndex((_unit, i) => bytes / 1000 ** (i + 1) < 999.5);
  const power = step === -1 ? largerUnits.length : step + 1;
  const value = bytes / 1000 ** power;
  return `${value < 99.95 ? value.toFixed(1) : Math.round(value)} ${largerUnits[power - 1] ?? ''}`;
}

/** Seconds in the largest unit that has at least one: "47 h"; hours up to two days. */
export function formatDuration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  return s < 172_800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86_400)} d`;
}
