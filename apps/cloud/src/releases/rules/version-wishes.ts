import { isObject } from '@platform/contract/json-object';
import { readAgent } from '@platform/contract/config-reading';
import { type Program, programs, type VersionWish, versionWish, wishKey } from './update-info.ts';

/** What a configuration wants one program to be. */
export type ProgramWish = {
  program: Program;
  /** As it was written; "stable" where nothing was. */
  text: string;
  wish: VersionWish;
  /** Where it was written, for example agent.version_control.viam-server. */
  path: string;
};

/** The wishes of a whole machine configuration, for both programs. */
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
