// What the manufacturer's defaults file of a device sets, as its agent reports it: names and values, no secrets. No Zod:
// devices use this module.
import { resolveAgentConfig } from './agent-config.ts';
import { type Field, fits } from './field-row.ts';
import { readAgent, sectionNames, sectionOf } from './reading.ts';
import { isObject, parseObject, type Json } from '../text/json-object.ts';

/** Stands for a secret of the file. */
export const deviceSecret = '(secret of the device)';

/** Limit of the report, in characters. */
export const longestDefaults = 16 * 1024;

export interface ReportedDefaults {
  /**
   * Like the key `agent` of a configuration, with the names of the schema and networks as a list. Without versions: the
   * management server chooses them, and does not know the file.
   */
  readonly agentJson: string;
  /** Values are left out, because the report would be too long. */
  readonly isCut: boolean;
}

/** @param manufacturer - what the file holds; undefined: there is none, or it is not used. */
export function reportedDefaults(manufacturer: unknown): ReportedDefaults {
  const { agent: given } = readAgent(isObject(manufacturer) ? manufacturer : {});
  const { config } = resolveAgentConfig({ manufacturer });
  const reported: Record<string, unknown> = {};
  let isCut = false;
  const add = (section: string, set: (into: Json) => unknown): void => {
    const before = reported[section];
    reported[section] = set(isObject(before) ? before : {});
    if (JSON.stringify(reported).length <= longestDefaults) return;
    isCut = true;
    if (before === undefined) delete reported[section];
    else reported[section] = before;
  };
  for (const section of sectionNames.filter((name) => name !== 'version_control')) {
    const values = given[section];
    if (section === 'additional_networks') {
      if (Array.isArray(values)) add(section, () => values.flatMap(networkOf));
      continue;
    }
    if (!isObject(values)) continue;
    for (const [key, field] of Object.entries(sectionOf(section))) {
      if (!Object.hasOwn(values, key) || values[key] === undefined) continue;
      const used: Json = { ...config[section] };
      // Such a value has no effect: the built-in default holds.
      if (!fits(field, values[key]) && used[key] === field.default) continue;
      add(section, (before) => ({ ...before, [key]: shownValue(field, used[key]) }));
    }
  }
  return { agentJson: JSON.stringify(reported), isCut };
}

function networkOf(given: unknown): Json[] {
  if (!isObject(given)) return [];
  const known = Object.entries(sectionOf('additional_networks')).filter(([key]) => Object.hasOwn(given, key));
  return [Object.fromEntries(known.map(([key, field]) => [key, shownValue(field, given[key])]))];
}

/** A value without its secrets; an empty one is none. */
function shownValue({ isSecret }: Field, value: unknown): unknown {
  if (isSecret !== true || value === '' || value === null) return value;
  if (!isObject(value)) return deviceSecret;
  return Object.fromEntries(Object.keys(value).map((key) => [key, deviceSecret]));
}

/** What a report holds; undefined: it cannot be read. */
export const readReportedDefaults = (agentJson: string): Json | undefined =>
  agentJson.length > longestDefaults ? undefined : parseObject(agentJson);
