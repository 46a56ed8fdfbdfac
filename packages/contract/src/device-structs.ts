// Between the saved `agent` object and the sections of DeviceAgentConfigResponse that existing agents read.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { type Field, type Json, fits, isObject } from './config-field.ts';
import { readAgent, sectionOf } from './config-reading.ts';
import { fieldTable } from './gen/agent-config.gen.ts';

/** The section fields of DeviceAgentConfigResponse. */
export interface DeviceStructs {
  readonly advancedSettings: JsonObject;
  readonly networkConfiguration: JsonObject;
  readonly additionalNetworks: JsonObject;
  readonly systemConfiguration: JsonObject;
}

/** Which agent asks: ours, or an unmodified one of the public protocol. */
export type Product = 'platform' | 'reference';

/**
 * Sections for a device, from what a person set. Renamed keys go out under both names.
 * One value of a wrong type makes the reference agent ignore the whole answer, so for it such values are left out.
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

/** A list becomes name → network; the reference agent parses every address as CIDR, so "auto" is left out. */
function networkStruct(given: unknown, product: Product): JsonObject {
  const struct: JsonObject = {};
  for (const network of Array.isArray(given) ? given : []) {
    if (!isObject(network)) continue;
    const { name, ...rest } = sectionStruct(fieldTable.additional_networks, network, product);
    if (product === 'reference' && rest['type'] === undefined) continue;
    if (rest['ipv4_address'] === 'auto') delete rest['ipv4_address'];
    const wish =
      [name, rest['ssid']].find((text) => typeof text === 'string' && text !== '') ??
      `wired${rest['interface'] ? `-${String(rest['interface'])}` : ''}`;
    let key = String(wish);
    for (let n = 2; Object.hasOwn(struct, key); n += 1) key = `${String(wish)}-${n}`;
    struct[key] = rest;
  }
  return struct;
}

/** What of DeviceAgentConfigResponse makes up the cloud's layer of a device's configuration. */
export type DeviceAnswer = { readonly [Key in keyof DeviceStructs]?: JsonObject | undefined } & {
  /** Field 1002: the saved `agent` object itself; a server of the public protocol does not send it. */
  readonly agent?: JsonObject | undefined;
};

const set = (struct: JsonObject | undefined): JsonObject =>
  Object.fromEntries(Object.entries(struct ?? {}).filter(([, value]) => value !== 0 && value !== '' && value !== null));

/** The cloud's layer for resolveAgentConfig. Without `agent` it is put together from the sections, where 0 and "" mean "not set". */
export function agentOf(answer: DeviceAnswer): Json {
  if (answer.agent !== undefined) return answer.agent;
  return {
    advanced_settings: set(answer.advancedSettings),
    network_configuration: set(answer.networkConfiguration),
    ...(answer.additionalNetworks ? { additional_networks: answer.additionalNetworks } : {}),
    system_configuration: set(answer.systemConfiguration),
  };
}
