import { isObject } from '@platform/contract/config-field';
import { PlatformError } from '@platform/contract/errors';

/** Programs as an operator names them → the key of version_control, and other spellings of it. */
const keys = { agent: ['agent'], server: ['platform-server', 'viam-server'] } as const;
export type ProgramName = keyof typeof keys;

/** @throws PlatformError INVALID_ARGUMENT */
export function programName(text: string): ProgramName {
  if (text === 'agent' || text === 'server') return text;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'program', value: text, limit: 'agent or server' });
}

/**
 * The text of a configuration with another wish for one program; everything else stays as it is, but for blanks.
 *
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
