// Finds the secrets of a configuration, so that logs and files for users can mask them.
import { type Json, isObject } from '../text/json-object.ts';
import { readAgent, sectionNames, sectionOf } from './reading.ts';
import { looksSecret } from './secret-names.ts';

/** Masking shorter texts would also mask unrelated text. */
export const shortestSecret = 8;
/** The last line of a key may be short, and is then no secret alone. */
const shortestLine = 16;

/**
 * The secrets of `agent` objects (as users and other clients write them), longest first: password fields of the schema,
 * and environment variables of the machine server with a name that suggests a secret.
 */
export function secretsIn(...agents: readonly unknown[]): readonly string[] {
  const found = new Set<string>();
  const add = (value: unknown): void => {
    if (typeof value !== 'string' || value.length < shortestSecret) return;
    found.add(value);
    // A program may log a single line of a key.
    for (const line of value.split(/\r?\n/))
      if (line.length >= shortestLine && !line.startsWith('-----')) found.add(line);
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
