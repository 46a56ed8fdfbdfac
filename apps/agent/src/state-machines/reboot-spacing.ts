// When a machine that stays offline is rebooted. The record outlives the reboot; the caller stores it.

/** Stored durably before each reboot. */
export interface RebootRecord {
  /** The machine was online with its credentials. One that never was is not rebooted: a reboot cannot help it. */
  hasBeenOnline: boolean;
  /** Reboots for being offline since it was last online for long. */
  reboots: number;
}

export const noReboots: RebootRecord = { hasBeenOnline: false, reboots: 0 };

const day = 86_400_000;
/** Enough to pass a day from any configured time; it keeps 2 ** n finite. */
const maxReboots = 30;

/** Offline time before the next reboot: doubled with each, up to a day, or the configured time if that is more. */
export const spacingMs = ({ reboots }: RebootRecord, rebootAfterMs: number): number =>
  Math.min(rebootAfterMs * 2 ** Math.min(reboots, maxReboots), Math.max(day, rebootAfterMs));

export const withReboot = (record: RebootRecord): RebootRecord => ({
  ...record,
  reboots: Math.min(record.reboots + 1, maxReboots),
});

/** Reads what `JSON.stringify` wrote; anything else counts as no reboots. */
export function parseRecord(value: unknown): RebootRecord {
  if (typeof value !== 'object' || value === null) return noReboots;
  const { hasBeenOnline, reboots } = value as Record<string, unknown>;
  const isCount = typeof reboots === 'number' && Number.isInteger(reboots) && reboots >= 0;
  if (typeof hasBeenOnline !== 'boolean' || !isCount) return noReboots;
  return { hasBeenOnline, reboots: Math.min(reboots, maxReboots) };
}
