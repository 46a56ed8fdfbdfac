// Reads an `agent` object as users and other clients write it: alternative key names, networks as a list or by name.
// The object itself stays unchanged; the result is a copy with our key names, and maps each value to its original path.
import { type Field, type Section } from './field-row.ts';
import { type Json, isObject } from '../text/json-object.ts';
import { fieldTable } from '../gen/agent-config.gen.ts';

export type SectionName = Exclude<keyof typeof fieldTable, 'maintenance_window'>;
export const sectionNames = Object.keys(fieldTable).filter(
  (name): name is SectionName => name !== 'maintenance_window',
);
export const sectionOf = (name: keyof typeof fieldTable): Section => fieldTable[name];

/** Keys that agents of other products know, with the reason why platform-agent ignores them: a clause. */
export const retiredKeys: Readonly<Partial<Record<SectionName, Readonly<Record<string, string>>>>> = {
  network_configuration: { bluetooth_trust_all: 'platform-agent accepts no Bluetooth pairing without a user' },
  system_configuration: {
    logging_journald_storage:
      'platform-agent limits the space of journald and leaves the place of its logs to the system',
    forward_system_logs: 'platform-agent sends the logs of agent and machine server alone',
    os_managed_upgrade_interval_hours: 'unattended-upgrades decides when the system is upgraded',
  },
};

/** A key that was read under another name, or that is unknown. */
export interface Remark {
  readonly path: string;
  /** `retired key`: see `retiredKeys`. */
  readonly is: 'unknown key' | 'retired key' | 'alias ignored';
  /** The key that takes precedence. */
  readonly instead?: string;
}

export interface Reading {
  /** With our key names, and networks as a list. Sections of a wrong type stay unchanged. */
  readonly agent: Readonly<Record<string, unknown>>;
  readonly remarks: readonly Remark[];
  /** Original path of each value: path with our key names → path as written. */
  readonly written: ReadonlyMap<string, string>;
}

export const joined = (path: string, key: string | number): string =>
  typeof key === 'number' ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;

function readSection(
  name: SectionName,
  given: Json,
  path: string,
  written: Map<string, string>,
  ownPath: string,
  remarks: Remark[],
): Record<string, unknown> {
  const retired = retiredKeys[name];
  const read: Record<string, unknown> = {};
  const known = new Map<string, string>();
  for (const [key, field] of Object.entries<Field>(sectionOf(name))) {
    known.set(key, key);
    if (field.alias !== undefined) known.set(field.alias, key);
  }
  for (const [key, value] of Object.entries(given)) {
    const own = known.get(key);
    if (own === undefined) {
      remarks.push({
        path: joined(path, key),
        is: retired !== undefined && Object.hasOwn(retired, key) ? 'retired key' : 'unknown key',
      });
      read[key] = value;
    } else if (own !== key && Object.hasOwn(given, own)) {
      remarks.push({ path: joined(path, key), is: 'alias ignored', instead: own });
    } else {
      read[own] = value;
      written.set(joined(ownPath, own), joined(path, key));
    }
  }
  return read;
}

function readNetworks(given: unknown, path: string, written: Map<string, string>, remarks: Remark[]): unknown {
  const one = (value: unknown, from: string, index: number, name?: string): unknown => {
    const own = joined(path, index);
    written.set(own, from);
    if (!isObject(value)) return value;
    const read = readSection('additional_networks', value, from, written, own, remarks);
    return name === undefined || Object.hasOwn(read, 'name') ? read : { ...read, name };
  };
  if (Array.isArray(given)) return given.map((value, index) => one(value, joined(path, index), index));
  if (isObject(given))
    return Object.entries(given).map(([name, value], index) => one(value, joined(path, name), index, name));
  return given;
}

/** Reads an `agent` object; `path` is its position in the configuration. */
export function readAgent(given: Json, path = 'agent'): Reading {
  const agent: Record<string, unknown> = {};
  const remarks: Remark[] = [];
  const written = new Map<string, string>();
  for (const [key, value] of Object.entries(given)) {
    const name = sectionNames.find((section) => section === key);
    const here = joined(path, key);
    if (name === undefined) {
      remarks.push({ path: here, is: 'unknown key' });
      agent[key] = value;
    } else if (name === 'additional_networks') {
      agent[key] = readNetworks(value, here, written, remarks);
    } else {
      agent[key] = isObject(value) ? readSection(name, value, here, written, here, remarks) : value;
    }
  }
  return { agent, remarks, written };
}

/**
 * The windows of `maintenance_window` as a list, one window or a list as users write it. Other values stay as they are.
 */
export function readWindows(given: unknown): { windows: unknown; written: ReadonlyMap<string, string> } {
  const own = 'maintenance_window';
  return isObject(given)
    ? { windows: [given], written: new Map([[joined(own, 0), own]]) }
    : { windows: given, written: new Map() };
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

interface Named {
  readonly name?: unknown;
  readonly ssid?: unknown;
  readonly interface?: unknown;
}

/** A unique name for every network: the given one, otherwise its SSID, otherwise wired-<interface>. */
export function namesOf(networks: readonly Named[]): string[] {
  const taken = new Set<string>();
  return networks.map((network) => {
    const device = text(network.interface);
    const preferred = text(network.name) || text(network.ssid) || (device ? `wired-${device}` : 'wired');
    let name = preferred;
    for (let n = 2; taken.has(name); n += 1) name = `${preferred}-${n}`;
    taken.add(name);
    return name;
  });
}
