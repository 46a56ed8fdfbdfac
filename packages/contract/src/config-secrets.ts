// Which texts of a configuration are secrets: what shows logs or files to people leaves them out.
import { type Json, isObject } from './json-object.ts';
import { readAgent, sectionNames, sectionOf } from './config-reading.ts';

/** Shorter ones would tear holes into every text. */
export const shortestSecret = 8;
const looksSecret = /secret|passw|token|psk|credential|private|(^|_)(pw|pin|key|auth)($|_)|apikey/i;

/**
 * The secret texts of `agent` objects (as people and other clients write them), longest first: passwords by the schema,
 * and of the environment of the machine server what has a name that sounds like one.
 */
export function secretsIn(...agents: readonly unknown[]): readonly string[] {
  const found = new Set<string>();
  const add = (value: unknown): void => {
    if (typeof value === 'string' && value.length >= shortestSecret) found.add(value);
  };
  for (const given of agents) {
    if (!isObject(given)) continue;
    const { agent } = readAgent(given);
    for (const name of sectionNames) {
      const section = agent[name];
      const objects: readonly Json[] = (Array.isArray(section) ? section : [section]).filter(isObject);
      const secrets = Object.entries(sectionOf(name)).filter(([, field]) => field.isSecret);
      for (const object of objects) {
        for (const [key] of secrets) {
          const value = object[key];
          if (!isObject(value)) add(value);
          else for (const [own, text] of Object.entries(value)) if (looksSecret.test(own)) add(text);
        }
      }
    }
  }
  return [...found].toSorted((a, b) => b.length - a.length);
}
