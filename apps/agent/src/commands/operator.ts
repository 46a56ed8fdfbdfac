import path from 'node:path';
import { Usage } from '@platform/kit/node';
import { controlOf, NobodyThere } from '../control/client.ts';
import { programNames } from '../control/operator.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';

type Given = { root: string; json: boolean; program?: string[] };

export const update = (given: Given, io: Io): Promise<number> => ask(given, io, '/update', {});

export const rollback = (given: Given, io: Io): Promise<number> =>
  ask(given, io, '/rollback', { program: programOf(given.program) });

export const clear = (given: Given, io: Io): Promise<number> =>
  ask(given, io, '/clear', { program: programOf(given.program) });

export function pin(given: Given & { off: boolean }, io: Io): Promise<number> {
  const [program, wish, ...more] = given.program ?? [];
  if (given.off ? wish !== undefined : wish === undefined || more.length > 0) {
    throw new Usage(`Say which version: platform-agent pin ${programNames.join('|')} VERSION, or --off for none.`, 2);
  }
  return ask(given, io, '/pin', { program: programOf(program === undefined ? [] : [program]), wish: wish ?? null });
}

function programOf(words: readonly string[] = []): string {
  const [name, ...more] = words;
  if (name === undefined || more.length > 0 || !programNames.some((known) => known === name)) {
    throw new Usage(`Say which program: ${programNames.join(' or ')}.`, 2);
  }
  return name;
}

async function ask({ root, json }: Given, io: Io, what: string, body: object): Promise<number> {
  const folder = path.resolve(root);
  try {
    const answer = await controlOf(folder, io.clock).post(what, body);
    io.out(json ? JSON.stringify(answer) : answer.did);
    return answer.is_changed ? exitCodes.done : exitCodes.nothingToDo;
  } catch (error) {
    if (error instanceof NobodyThere) throw notRunning(folder);
    throw error;
  }
}

const notRunning = (root: string): Ended =>
  new Ended(exitCodes.notRunning, {
    code: 'AGENT_NOT_RUNNING',
    what: `No agent runs for ${root}.`,
    remedy: 'Start it with `systemctl start platform-agent`, or name its folder with --root.',
  });
