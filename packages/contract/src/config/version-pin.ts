// Sets the version of one program in a machine's configuration, for users who do not edit its text.
import { isObject } from '../text/json-object.ts';

/** Program name for operators → its key in version_control, and aliases of the key. */
const keys = { agent: ['agent'], server: ['platform-server', 'viam-server'] } as const;
export type ProgramName = keyof typeof keys;

/** The configured version of a program; default "stable". */
export function versionOf(config: unknown, program: ProgramName): string {
  const agent = isObject(config) ? config['agent'] : undefined;
  const versions = isObject(agent) ? agent['version_control'] : undefined;
  const configured = isObject(versions) ? keys[program].map((key) => versions[key]) : [];
  return configured.filter((one): one is string => typeof one === 'string').find((one) => one !== '') ?? 'stable';
}

/**
 * Sets the desired version of one program; everything else except whitespace stays unchanged.
 *
 * @param text - JSON.
 * @param desired - stable, dev, a version or a URL; undefined removes the entry, so the default stable applies.
 */
export function withVersion(text: string, program: ProgramName, desired: string | undefined): string {
  const config = JSON.parse(text) as unknown;
  const top = isObject(config) ? { ...config } : {};
  const agent = isObject(top['agent']) ? { ...top['agent'] } : {};
  const versions = isObject(agent['version_control']) ? { ...agent['version_control'] } : {};
  const [own, ...others] = keys[program];
  for (const key of others) delete versions[key];
  if (desired === undefined) delete versions[own];
  else versions[own] = desired;
  agent['version_control'] = versions;
  if (Object.keys(versions).length === 0) delete agent['version_control'];
  top['agent'] = agent;
  if (Object.keys(agent).length === 0) delete top['agent'];
  return `${JSON.stringify(top, null, 2)}\n`;
}

/**
 * Copies the pins of the current configuration into a new one that does not name the program.
 *
 * @param current, next - JSON; text that is not a JSON object is returned unchanged, and the server rejects it.
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

/** False if a value on the path has another type, which the server must reject. */
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
