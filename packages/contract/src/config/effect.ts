// Finds fields of a configuration without effect on a machine. The schema defines where and since when a field acts. No
// Zod: devices use this module.
import { type Field } from './field-row.ts';
import { type Json, isObject } from '../text/json-object.ts';
import { joined, readAgent, readWindows, retiredKeys, type SectionName, sectionNames, sectionOf } from './reading.ts';
import { fieldTable } from '../gen/agent-config.gen.ts';
import type { Problem } from './problem.ts';
import { isBefore } from '../releases/semantic-version.ts';

/** Known facts about the agent of a configuration. */
export interface ActingAgent {
  /** For example linux/arm64; absent: unknown. */
  readonly platform?: string;
  /** Absent: unknown. */
  readonly version?: string;
  /** Fields that the agent reports as supported, as `section.key`; absent: it reports none. */
  readonly actsOn?: readonly string[];
}

/** A field that a user set and that has no effect. */
export interface Ineffective {
  readonly section: string;
  readonly path: string;
  /** A clause that fits after "has no effect here:". */
  readonly reason: string;
  readonly remedy: string;
}

/** What an agent may change on its machine. */
export interface Abilities {
  readonly managesNetworks: boolean;
  /** Files and packages of the operating system. */
  readonly managesSystem: boolean;
}

/** All fields that this version of the agent supports on this operating system. */
export const actedOn = (
  platform: string,
  { managesNetworks, managesSystem }: Abilities = { managesNetworks: true, managesSystem: true },
): string[] =>
  Object.entries(fieldTable).flatMap(([section, fields]) =>
    Object.entries<Field>(fields)
      .filter(([, field]) => field.since !== undefined && isFor(field, platform))
      .filter(([key]) => (managesNetworks || !isNetwork(section, key)) && (managesSystem || !isSystem(section, key)))
      .map(([key]) => `${section}.${key}`),
  );

const isNetwork = (section: string, key: string): boolean =>
  section === 'network_configuration' ||
  section === 'additional_networks' ||
  (section === 'advanced_settings' && key === 'disable_network_configuration');

const isSystem = (section: string, key: string): boolean =>
  section === 'system_configuration' || (section === 'advanced_settings' && key === 'disable_system_configuration');

/** All fields of `json` that have no effect on a machine with this agent. */
export function ineffectiveFields(json: unknown, of: ActingAgent): Ineffective[] {
  const config = isObject(json) ? json : {};
  const { agent, written } = readAgent(isObject(config['agent']) ? config['agent'] : {});
  const unused: Ineffective[] = [];
  const look = (section: keyof typeof fieldTable, given: unknown, path: string): void => {
    if (!isObject(given)) return;
    for (const [key, field] of Object.entries<Field>(sectionOf(section))) {
      if (!Object.hasOwn(given, key)) continue;
      const own = joined(path, key);
      const none = noEffect(section, key, field, agent, of);
      if (none) unused.push({ section, path: written.get(own) ?? own, ...none });
    }
  };
  for (const section of sectionNames) {
    const given = agent[section];
    if (section !== 'additional_networks') {
      look(section, given, joined('agent', section));
      unused.push(...retiredFields(section, given));
    } else if (Array.isArray(given)) unused.push(...ineffectiveNetworks(given, written, agent, of));
  }
  const { windows, written: places } = readWindows(config['maintenance_window']);
  for (const [index, window] of (Array.isArray(windows) ? windows : []).entries()) {
    const own = joined('maintenance_window', index);
    look('maintenance_window', window, places.get(own) ?? own);
  }
  return unused;
}

/** Reports a network once if none has an effect; otherwise the fields without one. */
function ineffectiveNetworks(
  networks: readonly unknown[],
  written: ReadonlyMap<string, string>,
  agent: Json,
  of: ActingAgent,
): Ineffective[] {
  const section = 'additional_networks';
  const all = noEffect(section, 'type', fieldTable.additional_networks.type, agent, of);
  return networks.flatMap((network, index) => {
    const own = joined('agent.additional_networks', index);
    if (all) return [{ section, path: written.get(own) ?? own, ...all }];
    return Object.entries<Field>(fieldTable.additional_networks).flatMap(([key, field]) => {
      const none = isObject(network) && Object.hasOwn(network, key) && noEffect(section, key, field, agent, of);
      const place = joined(own, key);
      // A name that is the key of an object has no path of its own.
      return none && written.has(place) ? [{ section, path: written.get(place) ?? place, ...none }] : [];
    });
  });
}

/** Fields that agents of other products have, and that platform-agent does without. */
function retiredFields(section: SectionName, given: unknown): Ineffective[] {
  return Object.entries(retiredKeys[section] ?? {}).flatMap(([key, reason]) =>
    isObject(given) && Object.hasOwn(given, key)
      ? [{ section, path: joined(`agent.${section}`, key), reason, remedy: 'Remove it.' }]
      : [],
  );
}

/** Groups fields of one section with the same reason into one sentence; `path` is that of the first field. */
export function ineffectiveTexts(fields: readonly Ineffective[]): { path: string; message: string; remedy: string }[] {
  const groups = Map.groupBy(fields, ({ section, reason }) => `${section} ${reason}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const paths = group.map(({ path }) => path).join(', ');
    return [{ path: first.path, message: `${paths}: no effect here, because ${first.reason}.`, remedy: first.remedy }];
  });
}

/** The same as configuration problems; they do not prevent saving. */
export const effectProblems = (json: unknown, of: ActingAgent): Problem[] =>
  ineffectiveFields(json, of).map(({ path, reason, remedy }) => ({
    path,
    message: `has no effect here: ${reason}.`,
    remedy,
    severity: 'warning',
  }));

const switches: Partial<Record<SectionName | 'maintenance_window', keyof typeof fieldTable.advanced_settings>> = {
  network_configuration: 'disable_network_configuration',
  additional_networks: 'disable_network_configuration',
  system_configuration: 'disable_system_configuration',
};

function noEffect(
  section: keyof typeof fieldTable,
  key: string,
  field: Field,
  agent: Json,
  { platform, version, actsOn }: ActingAgent,
): { reason: string; remedy: string } | undefined {
  if (field.since === undefined)
    return {
      reason: 'no version of the agent acts on it yet',
      remedy: 'It is kept. Do not rely on it, or remove it.',
    };
  if (platform !== undefined && !isFor(field, platform))
    return {
      reason: `it acts on ${field.platforms?.join(', ')} only, and this machine is ${platform}`,
      remedy: 'Remove it.',
    };
  const isMissing = actsOn
    ? !actsOn.includes(`${section}.${key}`)
    : version !== undefined && isBefore(version, field.since);
  if (isMissing && actsOn && isNetwork(section, key) && !(version !== undefined && isBefore(version, field.since)))
    return {
      reason: 'the agent of this machine does not manage its networks',
      remedy:
        'Install the agent as a service of systemd, or start it as root with --manage-networks always. Or remove the field.',
    };
  if (isMissing && actsOn && isSystem(section, key) && !(version !== undefined && isBefore(version, field.since)))
    return {
      reason: 'the agent of this machine does not manage its operating system',
      remedy: 'Install the agent as a service of systemd. Or remove the field.',
    };
  if (isMissing)
    return {
      reason: `the agent of this machine${version === undefined ? '' : ` (${version})`} does not act on it`,
      remedy: `Update the agent to ${field.since} or newer.`,
    };
  const off = switches[section];
  const settings = agent['advanced_settings'];
  const hasSwitch = off !== undefined && sectionOf('advanced_settings')[off]?.since !== undefined;
  if (hasSwitch && isObject(settings) && settings[off] === true)
    return {
      reason: `agent.advanced_settings.${off} is true`,
      remedy: `Remove it, or set ${off} to false.`,
    };
  return undefined;
}

const isFor = ({ platforms }: Field, platform: string): boolean =>
  platforms === undefined || platforms.includes(platform.split('/')[0] ?? '');
