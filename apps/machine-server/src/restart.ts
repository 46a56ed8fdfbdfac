import type { MaintenanceReading } from '@platform/contract/machine-server/machine-server';

/** A sensor's readings, or why there are none. */
export type SensorAnswer =
  | { readonly at: 'read'; readonly readings: Readonly<Record<string, unknown>> }
  | { readonly at: 'failed'; readonly problem: string }
  | { readonly at: 'missing' };

/**
 * Evaluates a maintenance sensor. Only a boolean true allows a restart; a failing sensor or another type denies it. A
 * missing sensor allows it: a typing error must not block updates forever.
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

/** Never during a reconfiguration, and only if the maintenance sensor, if any, allows it. */
export function mayRestart(isReconfiguring: boolean, maintenance: MaintenanceReading | undefined): boolean {
  return !isReconfiguring && (maintenance?.allowed ?? true);
}
