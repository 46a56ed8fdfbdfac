import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { ControlAnswer } from '@platform/contract/machine/agent-status';
import { createLog } from '@platform/kit';
import { stderrSink, Usage } from '@platform/kit/node';
import type { OperatorAtRest } from '../versions/at-rest.ts';
import { controlOf, NoAgentRuns } from '../control/client.ts';
import { commandOfService } from '../control/service-words.ts';
import { programNames, type Program } from '../versions/layout.ts';
import type { Done } from '../versions/operator.ts';
import { system } from '../composition/system.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';

type Given = { root: string; json: boolean; program?: string[] };
/** The same operation on the disk, for when no agent runs. */
type AtRest = (operator: OperatorAtRest) => Promise<Done>;

export function rollback(given: Given, io: Io): Promise<number> {
  const program = programOf(given.program);
  return ask(given, io, '/rollback', { program }, (operator) => operator.rollback(program));
}

export function clear(given: Given, io: Io): Promise<number> {
  const program = programOf(given.program);
  return ask(given, io, '/clear', { program }, (operator) => operator.clearQuarantine(program));
}

export function pin(given: Given & { off: boolean }, io: Io): Promise<number> {
  const [name, version, ...more] = given.program ?? [];
  if (given.off ? version !== undefined : version === undefined || more.length > 0) {
    throw new Usage(`Say which version: platform-agent pin ${programNames.join('|')} VERSION, or --off for none.`, 2);
  }
  const program = programOf(name === undefined ? [] : [name]);
  const desired = version ?? null;
  return ask(given, io, '/pin', { program, desired }, (operator) => operator.pin(program, desired));
}

function programOf(words: readonly string[] = []): Program {
  const [name, ...more] = words;
  const found = programNames.find((known) => known === name);
  if (!found || more.length > 0) throw new Usage(`Say which program: ${programNames.join(' or ')}.`, 2);
  return found;
}

async function ask(given: Given, io: Io, what: string, body: object, instead: AtRest): Promise<number> {
  const root = path.resolve(given.root);
  const { did, is_changed } = await answered(root, io, what, body, instead);
  io.out(given.json ? JSON.stringify({ is_changed, did }) : did);
  return is_changed ? exitCodes.done : exitCodes.nothingToDo;
}

async function answered(root: string, io: Io, what: string, body: object, instead: AtRest): Promise<ControlAnswer> {
  const { clock } = io;
  try {
    return await controlOf(root, clock).post(what, body);
  } catch (error) {
    if (!(error instanceof NoAgentRuns)) throw error;
    if (!(await isInstalled(root))) throw notRunning(root);
  }
  const log = createLog({ name: 'operator', clock, level: 'warn', sink: stderrSink('text') });
  const { atRest } = await import('../versions/at-rest.ts');
  const { did, isChanged } = await atRest(root, { files: system.files(root), clock, log }, instead);
  return { did: `${did} No agent runs now: it holds from the next start on.`, is_changed: isChanged };
}

const isInstalled = (root: string): Promise<boolean> =>
  stat(path.join(root, 'state')).then(
    () => true,
    () => false,
  );

export const notRunning = (root: string): Ended =>
  new Ended(exitCodes.notRunning, {
    code: 'AGENT_NOT_RUNNING',
    what: `No agent runs for ${root}.`,
    remedy: `Start it with \`${commandOfService('start')}\`, or name its folder with --root.`,
  });
