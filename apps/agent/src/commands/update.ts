import path from 'node:path';
import type { AgentStatus, ProgramReport } from '@platform/contract/machine/agent-status';
import { formatBytes } from '@platform/kit';
import { controlOf, NoAgentRuns } from '../control/client.ts';
import { programNames } from '../versions/layout.ts';
import type { Io } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { notRunning } from './versions.ts';

const lookMs = 500;
/** Time for an agent to begin a download. */
const beginMs = 3_000;

/** Starts a check for updates and waits for their downloads. */
export async function update(given: { root: string; wait: number; json: boolean }, io: Io): Promise<number> {
  const root = path.resolve(given.root);
  const { clock } = io;
  const control = controlOf(root, clock);
  const away = (error: unknown): never => {
    throw error instanceof NoAgentRuns ? notRunning(root) : error;
  };
  const before = await control.status().catch(away);
  await control.post('/update', {}).catch(away);

  const began = clock.now();
  const printed = new Map<string, string>();
  let now = before;
  while (clock.now() - began < given.wait * 1000) {
    await clock.sleep(lookMs);
    now = await control.status().catch(() => now); // a replaced agent is unavailable for a moment
    for (const name of programNames) {
      const words = progressWords(now.programs[name]);
      if (words !== printed.get(name) && words !== '') io.note(`${name}: ${words}`);
      printed.set(name, words);
    }
    const isIdle = programNames.every((name) => now.programs[name].last_update?.state !== 'downloading');
    if (isIdle && clock.now() - began >= beginMs) break;
  }
  const isChanged = programNames.some((name) => isNews(before.programs[name], now.programs[name]));
  const failed = programNames.some((name) => isMissing(now.programs[name]) && hasFailed(now.programs[name]));
  const lines = programNames.map((name) => `${name}: ${summary(now.programs[name])}`);
  if (!now.cloud.is_reached) lines.push('The management server cannot be reached. This is the last known state.');
  const document = { is_changed: isChanged, did: lines.join(' '), programs: now.programs } satisfies Result;
  io.out(given.json ? JSON.stringify(document) : lines.join('\n'));
  if (failed) return exitCodes.failed;
  return isChanged ? exitCodes.done : exitCodes.nothingToDo;
}

interface Result {
  is_changed: boolean;
  did: string;
  programs: AgentStatus['programs'];
}

const isMissing = ({ wanted, installed }: ProgramReport): boolean => wanted !== '' && wanted !== installed;
const hasFailed = ({ last_update: last }: ProgramReport): boolean =>
  last?.state === 'failed' || last?.state === 'reverted';
const isNews = (before: ProgramReport, now: ProgramReport): boolean =>
  before.installed !== now.installed ||
  before.last_update?.version !== now.last_update?.version ||
  before.last_update?.state !== now.last_update?.state;

function progressWords({ last_update: last }: ProgramReport): string {
  if (last?.state !== 'downloading') return '';
  const of = last.size_bytes > 0 ? ` of ${formatBytes(last.size_bytes)}` : '';
  return `downloading ${last.version}, ${formatBytes(last.downloaded_bytes)}${of}`;
}

function summary(program: ProgramReport): string {
  const { installed, running, wanted, last_update: last, why } = program;
  if (last?.state === 'downloading') return `${progressWords(program)}; it goes on.`;
  if (isMissing(program) && last?.state === 'staged') return `${wanted} is ready and used at the next restart.`;
  if (isMissing(program)) return why || `${wanted} is wanted, ${installed || 'nothing'} is installed.`;
  if (installed !== '' && running !== '' && running !== installed) return `${installed} is used at the next restart.`;
  if (installed === '') return 'no version is installed, and none is wanted.';
  return `${installed} is used${wanted === '' ? '' : ', as wanted'}.`;
}
