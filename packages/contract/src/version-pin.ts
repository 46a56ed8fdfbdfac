// Choosing the version of one program in the text of a machine's configuration, for people who never look at that text.
import { isObject } from './json-object.ts';

/** Programs as an operator names them → the key of version_control, and other spellings of it. */
const keys = { agent: ['agent'], server: ['platform-server', 'viam-server'] } as const;
export type ProgramName = keyof typeof keys;

/** What a configuration says of a program; "stable" where it says nothing. */
export function versionOf(config: unknown, program: ProgramName): string {
  const agent = isObject(config) ? config['agent'] : undefined;
  const versions = isObject(agent) ? agent['version_control'] : undefined;
  const said = isObject(versions) ? keys[program].map((key) => versions[key]) : [];
  return said.filter((one): one is string => typeof one === 'string').find((one) => one !== '') ?? 'stable';
}

/**
 * The text of a configuration with another wish for one program; everything else stays as it is, but for blanks.
 *
 * @param text - JSON.
 * @param wish - stable, dev, a version or an address; undefined: nothing is said any more, so stable holds.
 */
export function withVersion(text: string, program: ProgramName, wish: string | undefined): string {
  const config = JSON.parse(text) as unknown;
  const top = isObject(config) ? { ...config } : {};
  const agent = isObject(top['agent']) ? { ...top['agent'] } : {};
  const versions = isObject(agent['version_control']) ? { ...agent['version_control'] } : {};
  const [own, ...others] = keys[program];
  for (const key of others) delete versions[key];
  if (wish === undefined) delete versions[own];
  else versions[own] = wish;
  agent['version_control'] = versions;
  if (Object.keys(versions).length === 0) delete agent['version_control'];
  top['agent'] = agent;
  if (Object.keys(agent).length === 0) delete top['agent'];
  return `${JSON.stringify(top, null, 2)}\n`;
}

/**
 * The text of a new configuration with the pins of the one in force, where the new one does not name the program.
 *
 * @param current, next - JSON; text that is no JSON object comes back as it is, for the server to refuse.
 * @returns `kept`: programs with the version that stays.
 */
export function keptPins(
  current: string,
  next: string,
): { text: string; kept: readonly (readonly [ProgramName, string])[] } {
  const [before, after] = [parsed(current), parsed(next)];
  if (!isObject(before) || !isObject(after)) return { text: next, kept: [] };
  const kept = (['agent', 'server'] as const).flatMap((program) =>
    isNamed(before, program) && mayName(after) && !isNamed(after, program)
      ? [[program, versionOf(before, program)] as const]
      : [],
  );
  return { text: kept.reduce((text, [program, version]) => withVersion(text, program, version), next), kept };
}

function isNamed(config: Record<string, unknown>, program: ProgramName): boolean {
  const { agent } = config;
  const versions = isObject(agent) ? agent['version_control'] : undefined;
  return isObject(versions) && keys[program].some((key) => key in versions);
}

/** False where another type stands on the way, which the server is to refuse. */
function mayName(config: Record<string, unknown>): boolean {
  const { agent = {} } = config;
  return isObject(agent) && isObject(agent['version_control'] ?? {});
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
