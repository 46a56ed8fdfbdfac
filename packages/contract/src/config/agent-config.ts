// The configuration as a device uses it: layers merged field by field, invalid values replaced and reported. Without
// Zod: types, defaults and limits are generated (gen/agent-config.gen.ts).
import { type Field, type Section, fits, misfit, nearestFit, shown } from './field-row.ts';
import { type Json, isObject } from '../text/json-object.ts';
import { joined, namesOf, readAgent, sectionOf } from './reading.ts';
import { networkBreaches, leastRebootMinutes, rebootBreach, windowBreaches } from './rules.ts';
import {
  type AdditionalNetwork,
  type AgentConfig,
  type MaintenanceWindow,
  type NetworkConfiguration,
  fieldTable,
} from '../gen/agent-config.gen.ts';

export type { AgentConfig, MaintenanceWindow } from '../gen/agent-config.gen.ts';

/** Source of a value, in descending precedence. */
export type Layer = 'command line' | 'cloud' | 'manufacturer';

/** An invalid value, and the value used instead. */
export interface Correction {
  /** Path as written, for example agent.network_configuration.user_idle_minutes. */
  readonly path: string;
  readonly layer: Layer;
  readonly problem: string;
  /** Text for users; never contains a secret. */
  readonly used: string;
}

/** `agent` objects as users wrote them, without defaults, by layer. A value that is not an object counts as unset. */
export interface AgentLayers {
  readonly commandLine?: unknown;
  readonly cloud?: unknown;
  readonly manufacturer?: unknown;
  /** The top-level key `maintenance_window` of the cloud's configuration. */
  readonly maintenanceWindow?: unknown;
}

interface Source {
  readonly layer: Layer;
  readonly agent: Json;
  readonly placeOf: (ownPath: string) => string;
}

/**
 * Resolves the effective configuration of this device, including every default. Precedence per field: command line,
 * cloud, manufacturer, built-in default; the first layer with a valid value wins. A set value wins also if it is 0, ""
 * or false. null counts as unset unless the field accepts it.
 */
export function resolveAgentConfig(layers: AgentLayers): ResolvedConfig {
  const corrections: Correction[] = [];
  const sources: Source[] = [];
  const add = (layer: Layer, given: unknown): void => {
    if (given === undefined || given === null) return;
    if (!isObject(given))
      return void corrections.push({
        path: 'agent',
        layer,
        problem: `must be an object, not ${shown(undefined, given)}.`,
        used: 'the next layer',
      });
    const { agent, written } = readAgent(given);
    sources.push({ layer, agent, placeOf: (own) => written.get(own) ?? own });
  };
  add('command line', layers.commandLine);
  add('cloud', layers.cloud);
  add('manufacturer', layers.manufacturer);

  const network = resolveSection<NetworkConfiguration>('network_configuration', sources, corrections);
  const { networks, networkPlaces } = resolveNetworks(sources, corrections);
  const config: AgentConfig = {
    version_control: resolveSection('version_control', sources, corrections),
    advanced_settings: resolveSection('advanced_settings', sources, corrections),
    network_configuration: withSafeReboot(network, sources, corrections),
    additional_networks: networks,
    system_configuration: withLogLimits(resolveSection('system_configuration', sources, corrections)),
    maintenance_window: resolveWindows(layers.maintenanceWindow, corrections),
  };
  const hasSystem = sources.some(({ agent }) => isObject(agent['system_configuration']));
  return { config, corrections, hasSystem, networkPlaces };
}

/** Where a configured network stands. */
export interface NetworkPlace {
  /** As written: agent.additional_networks[0], agent.additional_networks.barn. */
  readonly path: string;
  readonly layer: Layer;
  /** Its name among the networks of the configuration, or the given one of a network that is left out. */
  readonly name: string;
  /** Why the network is left out, as a clause; empty: it is used. */
  readonly problem: string;
}

interface ResolvedConfig {
  readonly config: AgentConfig;
  readonly corrections: readonly Correction[];
  /** A layer has the key `system_configuration`: without it, its defaults have no effect. */
  readonly hasSystem: boolean;
  /** Each configured network, in the order of the configuration. */
  readonly networkPlaces: readonly NetworkPlace[];
}

/** Minutes may be a duration of the public agent, such as 10m0s. */
function plain(field: Field, value: unknown): unknown {
  const match =
    field.unit === 'min' && typeof value === 'string' ? /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(value) : null;
  if (!match || value === '') return value;
  return Math.round(Number(match[1] ?? 0) * 60 + Number(match[2] ?? 0) + Number(match[3] ?? 0) / 60);
}

function resolveSection<T>(
  name: Exclude<keyof typeof fieldTable, 'additional_networks' | 'maintenance_window'>,
  sources: readonly Source[],
  corrections: Correction[],
): T {
  const section: Section = sectionOf(name);
  const path = joined('agent', name);
  for (const { layer, agent } of sources) {
    const given = agent[name];
    if (given !== undefined && given !== null && !isObject(given))
      corrections.push({
        path,
        layer,
        problem: `must be an object, not ${shown(undefined, given)}.`,
        used: 'the next layer',
      });
  }
  const entries = Object.entries(section).map(([key, field]) => [
    key,
    resolveField(field, joined(path, key), key, name, sources, corrections),
  ]);
  return Object.fromEntries(entries) as T;
}

function resolveField(
  field: Field,
  ownPath: string,
  key: string,
  name: string,
  sources: readonly Source[],
  corrections: Correction[],
): unknown {
  const bad: Omit<Correction, 'used'>[] = [];
  let used: unknown;
  let nearest: unknown;
  for (const { layer, agent, placeOf } of sources) {
    const section = agent[name];
    const value = isObject(section) ? plain(field, section[key]) : undefined;
    if (value === undefined || (value === null && !field.isNullable)) continue;
    if (fits(field, value)) {
      used = value;
      break;
    }
    bad.push({ path: placeOf(ownPath), layer, problem: misfit(field, value) });
    nearest ??= nearestFit(field, value);
  }
  used ??= nearest === undefined ? field.default : nearest;
  const words = field.isSecret ? 'another value' : shown(field, used);
  corrections.push(...bad.map((correction) => ({ ...correction, used: words })));
  return used;
}

function withSafeReboot(
  network: NetworkConfiguration,
  sources: readonly Source[],
  corrections: Correction[],
): NetworkConfiguration {
  const breach = rebootBreach(network);
  if (!breach) return network;
  const least = leastRebootMinutes(network);
  const origin = sources.find(
    ({ agent }) =>
      isObject(agent['network_configuration']) && Object.hasOwn(agent['network_configuration'], breach.key),
  );
  corrections.push({
    path: joined('agent.network_configuration', breach.key),
    layer: origin?.layer ?? 'cloud',
    problem: breach.message,
    used: String(least),
  });
  return { ...network, device_reboot_after_offline_minutes: least };
}

/** Clients of the public protocol send 0 for an unset value. */
const withLogLimits = (system: AgentConfig['system_configuration']): AgentConfig['system_configuration'] => ({
  ...system,
  logging_journald_runtime_max_use_megabytes:
    system.logging_journald_runtime_max_use_megabytes ||
    fieldTable.system_configuration.logging_journald_runtime_max_use_megabytes.default,
  logging_journald_system_max_use_megabytes:
    system.logging_journald_system_max_use_megabytes ||
    fieldTable.system_configuration.logging_journald_system_max_use_megabytes.default,
});

const windowKey = 'maintenance_window';
const mostWindows = 32;

type Tell = (path: string, problem: string, used: string) => undefined;

const teller =
  (layer: Layer, corrections: Correction[]): Tell =>
  (path, problem, used) =>
    void corrections.push({ path, layer, problem, used });

/** The networks of the first layer with a list. An invalid field gets its default; an unusable network is dropped. */
function resolveNetworks(
  sources: readonly Source[],
  corrections: Correction[],
): { networks: readonly AdditionalNetwork[]; networkPlaces: readonly NetworkPlace[] } {
  for (const { layer, agent, placeOf } of sources) {
    const given = agent['additional_networks'];
    if (given === undefined || given === null) continue;
    const tell = teller(layer, corrections);
    if (!Array.isArray(given)) {
      tell(
        'agent.additional_networks',
        `must be a list of networks, not ${shown(undefined, given)}.`,
        'the next layer',
      );
      continue;
    }
    const read = given.map((item: unknown, index) => {
      const [own, before] = [joined('agent.additional_networks', index), corrections.length];
      const network = resolveNetwork(item, own, placeOf, tell);
      const [last] = network ? [] : corrections.slice(before).toReversed();
      const problem = last ? `${last.path} ${last.problem.replace(/\.$/, '')}` : '';
      return { network, item, place: { path: placeOf(own), layer, problem } };
    });
    const usable = read.flatMap(({ network }) => (network ? [network] : []));
    const names = namesOf(usable);
    const networks = usable.map((network, index) => ({ ...network, name: names[index] ?? network.name }));
    const named = networks.values();
    const networkPlaces = read.map(({ network, item, place }) => ({
      ...place,
      name: (network ? named.next().value?.name : namesOf([isObject(item) ? item : {}])[0]) ?? '',
    }));
    return { networks, networkPlaces };
  }
  return { networks: [], networkPlaces: [] };
}

/** Fields required to join a network: a default would hide a missing one, or join it with less protection. */
const vital: ReadonlySet<string> = new Set([
  'type',
  'ssid',
  'psk',
  'ipv4_address',
  'ipv4_gateway',
  ...Object.keys(fieldTable.additional_networks).filter((key) => key.startsWith('eap_')),
]);

function resolveNetwork(
  item: unknown,
  own: string,
  placeOf: Source['placeOf'],
  tell: Tell,
): AdditionalNetwork | undefined {
  const unusable = 'nothing: the network is left out';
  if (!isObject(item)) return tell(placeOf(own), `must be an object, not ${shown(undefined, item)}.`, unusable);
  const read: Record<string, unknown> = {};
  for (const [key, field] of Object.entries<Field>(fieldTable.additional_networks)) {
    const value = item[key] ?? undefined;
    read[key] = value ?? field.default;
    if (value !== undefined && !fits(field, value)) {
      const path = placeOf(joined(own, key));
      if (vital.has(key)) return tell(path, misfit(field, value), unusable);
      read[key] = nearestFit(field, value) ?? field.default;
      tell(path, misfit(field, value), shown(field, read[key]));
    }
  }
  if (read['type'] === undefined)
    return tell(joined(placeOf(own), 'type'), 'is required: one of "wifi", "wired".', unusable);
  // Every field is valid or has its default here.
  const network = read as unknown as AdditionalNetwork;
  const breach = networkBreaches(network).find(({ isError }) => isError);
  if (breach) return tell(joined(placeOf(own), breach.key), breach.message, unusable);
  return network;
}

/** The usable windows. An invalid field gets its default; a window that is unusable without one is left out. */
function resolveWindows(given: unknown, corrections: Correction[]): readonly MaintenanceWindow[] {
  if (given === undefined || given === null) return [];
  const tell = teller('cloud', corrections);
  if (isObject(given)) {
    const window = resolveWindow(given, windowKey, 'no window: the machine server alone says when', tell);
    return window ? [window] : [];
  }
  if (!Array.isArray(given)) {
    tell(windowKey, `must be a window or a list of windows, not ${shown(undefined, given)}.`, 'no window');
    return [];
  }
  if (given.length > mostWindows)
    tell(windowKey, `must have at most ${mostWindows} windows, not ${given.length}.`, `the first ${mostWindows}`);
  return given.slice(0, mostWindows).flatMap((item: unknown, index) => {
    const path = joined(windowKey, index);
    const unusable = 'nothing: the window is left out';
    const window = isObject(item)
      ? resolveWindow(item, path, unusable, tell)
      : tell(path, `must be an object, not ${shown(undefined, item)}.`, unusable);
    return window ? [window] : [];
  });
}

function resolveWindow(given: Json, own: string, unusable: string, tell: Tell): MaintenanceWindow | undefined {
  const read: Record<string, unknown> = {};
  for (const [key, field] of Object.entries<Field>(fieldTable.maintenance_window)) {
    const value = given[key] ?? field.default;
    const path = joined(own, key);
    if (value === undefined) {
      if (field.isOptional !== true) return tell(path, 'is required.', unusable);
    } else if (fits(field, value)) read[key] = value;
    else {
      const near = nearestFit(field, value) ?? field.default;
      if (near === undefined) return tell(path, misfit(field, value), unusable);
      tell(path, misfit(field, value), shown(field, near));
      read[key] = near;
    }
  }
  const breach = windowBreaches(read)[0];
  // Every field is valid, has its default or may be absent here.
  return breach ? tell(joined(own, breach.key), breach.message, unusable) : (read as unknown as MaintenanceWindow);
}

/** The durations of a configuration in milliseconds. */
export interface AgentLimits {
  readonly serverStartMs: number;
  readonly offlineBeforeHotspotMs: number;
  readonly retryConnectionMs: number;
  readonly userIdleMs: number;
  /** Infinity: never. */
  readonly rebootAfterOfflineMs: number;
}

const minuteMs = 60_000;

export function limitsOf(config: AgentConfig): AgentLimits {
  const network = config.network_configuration;
  const reboot = network.device_reboot_after_offline_minutes;
  return {
    serverStartMs: config.advanced_settings.platform_server_start_timeout_minutes * minuteMs,
    offlineBeforeHotspotMs: network.offline_before_starting_hotspot_minutes * minuteMs,
    retryConnectionMs: network.retry_connection_timeout_minutes * minuteMs,
    userIdleMs: network.user_idle_minutes * minuteMs,
    rebootAfterOfflineMs: reboot === 0 ? Infinity : reboot * minuteMs,
  };
}

/** The built-in defaults only. */
export const defaultAgentConfig = (): AgentConfig => resolveAgentConfig({}).config;
