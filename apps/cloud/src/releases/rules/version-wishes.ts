import { isObject } from '@platform/contract/json-object';
import { readAgent } from '@platform/contract/config-reading';
import { type Program, programs, type VersionWish, versionWish, wishKey } from './update-info.ts';

/** The desired version of one program in a configuration. */
export type ProgramWish = {
  program: Program;
  /** The written value; "stable" by default. */
  text: string;
  wish: VersionWish;
  /** Path of the value, for example agent.version_control.viam-server. */
  path: string;
};

/** The desired versions of both programs in a machine configuration. */
export function wishesOf(config: { readonly [key: string]: unknown }): ProgramWish[] {
  const given = config['agent'];
  const { agent, written } = readAgent(isObject(given) ? given : {});
  const versions = agent['version_control'];
  return programs.map((program) => {
    const value = isObject(versions) ? versions[wishKey[program]] : undefined;
    const path = `agent.version_control.${wishKey[program]}`;
    return {
      program,
      text: typeof value === 'string' && value !== '' ? value : 'stable',
      wish: versionWish(value),
      path: written.get(path) ?? path,
    };
  });
}
