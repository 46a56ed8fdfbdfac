// Converts between the saved `agent` object and the sections of DeviceAgentConfigResponse that existing agents read.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { type Field, fits } from './field-row.ts';
import { type Json, isObject } from '../text/json-object.ts';
import { namesOf, readAgent, sectionOf } from './reading.ts';
import { fieldTable } from '../gen/agent-config.gen.ts';

/** The section fields of DeviceAgentConfigResponse. */
export interface DeviceStructs {
  readonly advancedSettings: JsonObject;
  readonly networkConfiguration: JsonObject;
  readonly additionalNetworks: JsonObject;
  readonly systemConfiguration: JsonObject;
}

/** The requesting agent: ours, or an unmodified one of the public protocol. */
export type Product = 'platform' | 'reference';

/**
 * Sections for a device, from the values that a user set. Renamed keys are sent under both names. A single value of a
 * wrong type makes the reference agent ignore the whole response, so such values are omitted for it.
 */
export function toDeviceStructs(agent: unknown, product: Product): DeviceStructs {
  const read = isObject(agent) ? readAgent(agent).agent : {};
  const section = (name: 'advanced_settings' | 'network_configuration' | 'system_configuration'): JsonObject =>
    sectionStruct(sectionOf(name), read[name], product);
  return {
    advancedSettings: section('advanced_settings'),
    networkConfiguration: section('network_configuration'),
    additionalNetworks: networkStruct(read['additional_networks'], product),
    systemConfiguration: section('system_configuration'),
  };
}

function sectionStruct(fields: Readonly<Record<string, Field>>, given: unknown, product: Product): JsonObject {
  const struct: JsonObject = {};
  for (const [key, value] of isObject(given) ? Object.entries(given) : []) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (value === undefined || (value === null && !field?.isNullable)) continue;
    if (product === 'reference' && field && !fits(field, value)) continue;
    struct[key] = value as JsonValue;
    if (field?.alias !== undefined) struct[field.alias] = value as JsonValue;
  }
  return struct;
}

/** Converts a list to name → network; the reference agent parses every address as CIDR, so "auto" is omitted. */
function networkStruct(given: unknown, product: Product): JsonObject {
  const networks = (Array.isArray(given) ? given : [])
    .filter(isObject)
    .map((network) => sectionStruct(fieldTable.additional_networks, network, product))
    .filter((network) => product === 'platform' || network['type'] !== undefined);
  const names = namesOf(networks);
  const struct: JsonObject = {};
  for (const [index, network] of networks.entries()) {
    delete network['name'];
    if (network['ipv4_address'] === 'auto') delete network['ipv4_address'];
    struct[names[index] ?? String(index)] = network;
  }
  return struct;
}

/** The fields of DeviceAgentConfigResponse that make up the cloud layer of a device's configuration. */
export type DeviceAnswer = { readonly [Key in keyof DeviceStructs]?: JsonObject | undefined } & {
  /** Field 1002: the saved `agent` object; servers of the public protocol do not send it. */
  readonly agent?: JsonObject | undefined;
};

const set = (struct: JsonObject | undefined): JsonObject =>
  Object.fromEntries(Object.entries(struct ?? {}).filter(([, value]) => value !== 0 && value !== '' && value !== null));

/** The cloud layer for resolveAgentConfig. Without `agent` it is built from the sections, where 0 and "" mean unset. */
export function agentOf(answer: DeviceAnswer): Json {
  if (answer.agent !== undefined) return answer.agent;
  const system = set(answer.systemConfiguration);
  return {
    advanced_settings: set(answer.advancedSettings),
    network_configuration: set(answer.networkConfiguration),
    ...(answer.additionalNetworks ? { additional_networks: answer.additionalNetworks } : {}),
    ...(Object.keys(system).length > 0 ? { system_configuration: system } : {}),
  };
}
