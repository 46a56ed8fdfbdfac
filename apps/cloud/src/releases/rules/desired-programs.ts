import { isObject } from '@platform/contract/text/json-object';
import { readAgent } from '@platform/contract/config/reading';
import { type Program, programs, type DesiredVersion, parseDesiredVersion, versionControlKey } from './update-info.ts';

/** The desired version of one program in a configuration. */
export type DesiredProgram = {
  program: Program;
  /** The written value; "stable" by default. */
  text: string;
  desired: DesiredVersion;
  /** Path of the value, for example agent.version_control.viam-server. */
  path: string;
};

/** The desired versions of both programs in a machine configuration. */
export function desiredProgramsOf(config: { readonly [key: string]: unknown }): DesiredProgram[] {
  const given = config['agent'];
  const { agent, written } = readAgent(isObject(given) ? given : {});
  const versions = agent['version_control'];
  return programs.map((program) => {
    const value = isObject(versions) ? versions[versionControlKey[program]] : undefined;
    const path = `agent.version_control.${versionControlKey[program]}`;
    return {
      program,
      text: typeof value === 'string' && value !== '' ? value : 'stable',
      desired: parseDesiredVersion(value),
      path: written.get(path) ?? path,
    };
  });
}
