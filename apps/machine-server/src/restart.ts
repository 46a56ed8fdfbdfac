import type { MaintenanceReading } from '@platform/contract/machine';

/** A sensor's answer, or why there is none. */
export type SensorAnswer =
  | { readonly at: 'read'; readonly readings: Readonly<Record<string, unknown>> }
  | { readonly at: 'failed'; readonly problem: string }
  | { readonly at: 'missing' };

/**
 * What a maintenance sensor says about restarts. Only a boolean true allows one; a failing sensor or a reading that is
 * no boolean denies it. A sensor that does not exist allows it: a typing mistake must not hold back updates for ever.
 */
export function maintenanceReading(sensor: string, key: string, answer: SensorAnswer): MaintenanceReading {
  switch (answer.at) {
    case 'missing':
      return { allowed: true, reading: `there is no sensor named "${sensor}"` };
    case 'failed':
      return { allowed: false, reading: `sensor "${sensor}" can't be read: ${answer.problem}` };
    case 'read': {
      const value = answer.readings[key];
      if (typeof value === 'boolean') return { allowed: value, reading: `${sensor}.${key} is ${value}` };
      const shown = value === undefined ? 'absent' : JSON.stringify(value);
      return { allowed: false, reading: `${sensor}.${key} must be true or false, it is ${shown}` };
    }
  }
}

/** Never in the middle of a change, and only when the maintenance sensor, if any, agrees. */
export function mayRestart(isReconfiguring: boolean, maintenance: MaintenanceReading | undefined): boolean {
  return !isReconfiguring && (maintenance?.allowed ?? true);
}
