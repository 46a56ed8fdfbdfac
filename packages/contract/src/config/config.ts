// Validates a machine configuration that a user wants to save. For servers and tools; devices use agent-config.ts.
import { type Field, expectedText, misfit, remedyFor, shown } from './field-row.ts';
import { type Json, isObject } from '../text/json-object.ts';
import { type Reading, joined, readAgent, readWindows, sectionNames, sectionOf } from './reading.ts';
import type { Breach } from './breach.ts';
import { addressRemarks, hugeNumbers, misplaced, outsideAgent, zoneNote } from './remarks.ts';
import { networkBreaches, rebootBreach, windowBreaches } from './rules.ts';
import { machineConfigSchema } from './schema.ts';
import { type AdditionalNetwork, type NetworkConfiguration, fieldTable } from '../gen/agent-config.gen.ts';
import { bySeverity, type Severity } from '../conditions/severity.ts';
import type { Problem } from './problem.ts';
import { typeOf } from '../machine-server/resources.ts';

export type { Problem, Severity };

/** Keys of a machine configuration that belong to the machine server and are passed through unchanged. */
const serverLists = ['components', 'services', 'packages', 'modules', 'remotes', 'processes', 'jobs'] as const;
const serverKeys: ReadonlySet<string> = new Set([
  ...serverLists,
  'agent',
  'maintenance_window',
  'maintenance',
  'fragments',
  'fragment_mods',
  'network',
  'auth',
  'log',
  'debug',
  'cloud',
  'tracing',
  'disable_log_deduplication',
  'enable_web_profile',
]);

/**
 * All problems of a machine configuration, errors first.
 *
 * @param json - the parsed configuration: an object with `agent` and other keys.
 */
export function checkConfig(json: unknown): Problem[] {
  if (!isObject(json))
    return [
      {
        path: '',
        message: `must be an object, not ${shown(undefined, json)}.`,
        remedy: 'Write a JSON object, for example {}.',
        severity: 'error',
      },
    ];
  const { windows, written } = readWindows(json['maintenance_window']);
  const read = readAgent(isObject(json['agent']) ? json['agent'] : {});
  const reading = { ...read, written: new Map([...read.written, ...written]) };
  const copy = {
    ...json,
    ...(isObject(json['agent']) ? { agent: reading.agent } : {}),
    ...(windows === undefined ? {} : { maintenance_window: windows }),
  };
  const problems = [...schemaProblems(copy, reading), ...serverProblems(json), ...remarkProblems(json, reading)];
  const broken = new Set(problems.filter((p) => p.severity === 'error').map((p) => p.path));
  for (const problem of [...ruleProblems(copy, reading), ...hugeNumbers(json)])
    if (!broken.has(problem.path)) problems.push(problem);

  return problems.toSorted(bySeverity);
}

const placeOf = (reading: Reading, path: string): string => {
  for (let end = path.length; end > 0; end = Math.max(path.lastIndexOf('.', end - 1), path.lastIndexOf('[', end - 1))) {
    const written = reading.written.get(path.slice(0, end));
    if (written !== undefined) return written + path.slice(end);
  }
  return path;
};

/** The field at a path such as ['agent', 'additional_networks', 0, 'psk', …], and the length of the path to it. */
function fieldAt(path: readonly PropertyKey[]): { field: Field; depth: number } | undefined {
  const [top, section] = path;
  if (top === 'maintenance_window') return lookup(fieldTable.maintenance_window, path, 2);
  if (top !== 'agent' || typeof section !== 'string' || !Object.hasOwn(fieldTable, section)) return undefined;
  return lookup(sectionOf(section as keyof typeof fieldTable), path, section === 'additional_networks' ? 3 : 2);
}

function lookup(
  section: Readonly<Record<string, Field>>,
  path: readonly PropertyKey[],
  depth: number,
): { field: Field; depth: number } | undefined {
  const key = path[depth];
  const field = typeof key === 'string' && Object.hasOwn(section, key) ? section[key] : undefined;
  return field && { field, depth: depth + 1 };
}

const valueAt = (json: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    json,
  );

function schemaProblems(copy: Json, reading: Reading): Problem[] {
  const result = machineConfigSchema.safeParse(copy);
  const found = new Map<string, Problem>();
  for (const issue of result.error?.issues ?? []) {
    const at = fieldAt(issue.path);
    const keys = at ? issue.path.slice(0, at.depth) : issue.path;
    const path = placeOf(
      reading,
      keys.reduce<string>((text, key) => joined(text, key as string | number), ''),
    );
    const value = valueAt(copy, keys);
    found.set(path, { path, severity: 'error', ...(at ? fieldTexts(at.field, value) : sectionTexts(keys, value)) });
  }
  return [...found.values()];
}

function fieldTexts(field: Field, value: unknown): Pick<Problem, 'message' | 'remedy'> {
  if (value === undefined) return { message: `is required: ${expectedText(field)}.`, remedy: remedyFor(field) };
  return { message: misfit(field, value), remedy: remedyFor(field) };
}

function sectionTexts(keys: readonly PropertyKey[], value: unknown): Pick<Problem, 'message' | 'remedy'> {
  if (keys.at(-1) === 'maintenance_window')
    return {
      message: `must be a window, or a list of 1 to 32 windows, not ${shown(undefined, value)}.`,
      remedy: 'Write {…} or [{…}, {…}], or remove the key to allow no window.',
    };
  const isList = keys.at(-1) === 'additional_networks';
  return {
    message: `must be ${isList ? 'a list of networks, or an object from name to network' : 'an object'}, not ${shown(undefined, value)}.`,
    remedy: `Write ${isList ? '[…]' : '{…}'}, or remove the key.`,
  };
}

const unknown = (path: string): Problem => ({
  path,
  message: 'is not known to this version.',
  remedy: 'It is kept and has no effect here; check its spelling.',
  severity: 'note',
});

function remarkProblem({ path, is, instead }: Reading['remarks'][number]): Problem {
  switch (is) {
    case 'unknown key': {
      const key = path.slice('agent.'.length);
      return serverKeys.has(key) ? misplaced(path, key) : unknown(path);
    }
    case 'retired key':
      return {
        path,
        message: 'has no effect with platform-agent; agents of other products act on it.',
        remedy: 'Remove it, unless the agent of another product runs on this machine.',
        severity: 'note',
      };
    case 'alias ignored':
      return {
        path,
        message: `has no effect because ${instead} is given too.`,
        remedy: 'Remove one of the two.',
        severity: 'warning',
      };
  }
}

function remarkProblems(json: Json, reading: Reading): Problem[] {
  const found = reading.remarks.map(remarkProblem);
  for (const key of Object.keys(json)) {
    if (sectionNames.some((name) => name === key)) found.push(outsideAgent(key));
    else if (!serverKeys.has(key)) found.push(unknown(key));
  }
  for (const [window, own] of windowsOf(json['maintenance_window']))
    for (const key of Object.keys(window))
      if (!Object.hasOwn(fieldTable.maintenance_window, key)) found.push(unknown(joined(own, key)));
  return found;
}

/** The windows that are objects, each with its path as written. */
function windowsOf(given: unknown): [window: Json, path: string][] {
  const { windows, written } = readWindows(given);
  const list: readonly unknown[] = Array.isArray(windows) ? windows : [];
  return list.flatMap((window, index): [Json, string][] => {
    const own = joined('maintenance_window', index);
    return isObject(window) ? [[window, written.get(own) ?? own]] : [];
  });
}

/** Validates what every machine server requires of its keys: lists of objects with unique names. */
function serverProblems(json: Json): Problem[] {
  const found: Problem[] = [];
  const error = (path: string, message: string, remedy: string): void =>
    void found.push({ path, message, remedy, severity: 'error' });
  for (const key of serverLists) {
    const list = json[key];
    if (list === undefined) continue;
    if (!Array.isArray(list)) {
      error(key, `must be a list, not ${shown(undefined, list)}.`, 'Write […], or remove the key.');
      continue;
    }
    const names = new Map<string, number>();
    for (const [index, item] of list.entries()) {
      const path = joined(key, index);
      const name = isObject(item) ? (item['name'] ?? item['id']) : undefined;
      if (!isObject(item)) error(path, `must be an object, not ${shown(undefined, item)}.`, 'Write {…} with a "name".');
      else if (typeof name !== 'string' || name === '')
        error(`${path}.name`, 'must be a text that names it.', 'Write a name that is unique in this list.');
      else if (names.has(name))
        error(
          `${path}.name`,
          `must be unique: ${joined(key, names.get(name) ?? 0)} is named ${JSON.stringify(name)} too.`,
          'Give it another name.',
        );
      else names.set(name, index);
      if (isObject(item) && (key === 'components' || key === 'services') && typeOf(item) === '')
        error(`${path}.type`, 'must be given.', `Write the type of the ${key.slice(0, -1)}, for example "camera".`);
    }
  }
  const maintenance = json['maintenance'];
  if (maintenance !== undefined) {
    if (!isObject(maintenance))
      error(
        'maintenance',
        'must be an object.',
        'Write {"sensor_name": …, "maintenance_allowed_key": …}, or remove the key.',
      );
    else
      for (const key of ['sensor_name', 'maintenance_allowed_key'])
        if (typeof maintenance[key] !== 'string' || maintenance[key] === '')
          error(`maintenance.${key}`, 'must be a text.', 'Write the name of the sensor and the key of its reading.');
  }
  return found;
}

/** Merges given values over defaults; a value of the wrong type is already reported and gets its default here. */
function filled<T>(section: Readonly<Record<string, Field>>, given: unknown): T {
  const entries = Object.entries(section).map(([key, field]) => {
    const value = isObject(given) ? given[key] : undefined;
    return [key, typeof value === typeof (field.default ?? '') ? value : (field.default ?? '')];
  });
  return Object.fromEntries(entries) as T;
}

function ruleProblems(copy: Json, reading: Reading): Problem[] {
  const found: Problem[] = [];
  const add = (path: string, breach: Breach): void => {
    const { key, message, remedy, isError } = breach;
    found.push({ path: placeOf(reading, joined(path, key)), message, remedy, severity: isError ? 'error' : 'warning' });
  };
  const agent = isObject(copy['agent']) ? copy['agent'] : {};
  const reboot = rebootBreach(
    filled<NetworkConfiguration>(fieldTable.network_configuration, agent['network_configuration']),
  );
  if (reboot) add('agent.network_configuration', reboot);
  const networks: readonly unknown[] = Array.isArray(agent['additional_networks']) ? agent['additional_networks'] : [];
  const seen = new Map<string, string>();
  for (const [index, given] of networks.entries()) {
    if (!isObject(given)) continue;
    const path = joined('agent.additional_networks', index);
    const network = filled<AdditionalNetwork>(fieldTable.additional_networks, given);
    for (const breach of networkBreaches(network)) add(path, breach);
    const identity = JSON.stringify([network.type, network.interface, network.ssid]);
    const twin = seen.get(identity);
    if (twin !== undefined)
      add(path, {
        key: network.type === 'wifi' ? 'ssid' : 'interface',
        message: `is the same network as ${twin}.`,
        remedy: 'Remove one of the two.',
        isError: false,
      });
    else seen.set(identity, placeOf(reading, path));
  }
  found.push(...addressRemarks(networks, (index) => placeOf(reading, joined('agent.additional_networks', index))));
  const { version_control: versions } = agent;
  for (const key of ['agent', 'platform-server']) {
    const version = isObject(versions) ? versions[key] : undefined;
    if (typeof version === 'string' && /^(https?|file):/.test(version)) {
      const path = placeOf(reading, `agent.version_control.${key}`);
      found.push({
        path,
        message: 'names a file that has no published sha256.',
        remedy: 'Make sure that this address can be trusted, or publish the file as a release.',
        severity: 'note',
      });
    }
  }
  for (const key of ['runtime', 'system'].map((name) => `logging_journald_${name}_max_use_megabytes`)) {
    const system = agent['system_configuration'];
    if (isObject(system) && system[key] === 0)
      found.push({
        path: `agent.system_configuration.${key}`,
        message: '0 counts as the default of 512 megabytes.',
        remedy: 'Write -1 to leave the limit of the system, or a number above 0.',
        severity: 'warning',
      });
  }
  for (const [window, path] of windowsOf(copy['maintenance_window']))
    for (const breach of windowBreaches(window)) add(path, breach);
  for (const [window, path] of windowsOf(copy['maintenance_window']))
    found.push(...zoneNote(window, placeOf(reading, path)));
  return found;
}
