import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { parseObject } from '@platform/contract/text/json-object';
import { isUuid } from '@platform/contract/text/names';
import { jsonAt } from './config-edit.ts';
import type { JsonPath } from './schema/json-path.ts';
import { msOf } from '../../ui/times.ts';

/** What the page knows of the defaults file of a device. */
export interface DeviceDefaults {
  /** Undefined: the machine has not reported it; `why` says so. */
  readonly agent: Readonly<Record<string, unknown>> | undefined;
  readonly why: string;
  /** When the machine reported it, ms since 1970. */
  readonly reportedOn: number | undefined;
  /** Some values are not known. */
  readonly isCut: boolean;
}

/** What holds for a field that neither the machine nor a fragment sets. */
export type DeviceDefault =
  | { is: 'device'; value: unknown; reportedOn: number | undefined }
  | { is: 'built-in' }
  | { is: 'unknown'; why: string };

export function deviceDefaultsOf({ report, reportedOn, hasOtherAgent }: Machine): DeviceDefaults {
  const unknown = (why: string): DeviceDefaults => ({ agent: undefined, why, reportedOn: undefined, isCut: false });
  if (report === undefined) return unknown('The machine has not reported yet what its defaults file sets.');
  const { deviceDefaults } = report;
  if (hasOtherAgent || deviceDefaults === undefined)
    return unknown('The agent of this machine does not report what its defaults file sets.');
  const agent = parseObject(deviceDefaults.agentJson) ?? {};
  return { agent, why: '', reportedOn: msOf(reportedOn), isCut: deviceDefaults.isCut };
}

/** Undefined: a device has no defaults for this path. */
export function deviceDefaultAt(
  { agent, why, reportedOn, isCut }: DeviceDefaults,
  [first, ...path]: JsonPath,
): DeviceDefault | undefined {
  if (first !== 'agent') return undefined;
  // The fields of a network belong to the list that has it.
  if (path[0] === 'additional_networks' && path.length > 1) return undefined;
  if (agent === undefined) return { is: 'unknown', why };
  const value = jsonAt(agent, path);
  if (value !== undefined) return { is: 'device', value, reportedOn };
  return isCut
    ? { is: 'unknown', why: 'The defaults file of this device sets more than its agent reports.' }
    : { is: 'built-in' };
}

/** The fragment that the device names for its machine; undefined: none. */
export function fragmentNamedBy(defaults: DeviceDefaults): string | undefined {
  const id = jsonAt(defaults.agent, ['network_configuration', 'fragment_id']);
  return typeof id === 'string' && isUuid(id) ? id.toLowerCase() : undefined;
}
