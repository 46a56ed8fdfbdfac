import { errorText, type Cell } from '@platform/kit';
import { systemErrors } from '@platform/contract/error-rows/system';
import { PlatformError } from '@platform/contract/errors';
import { contentOf, type ConfigContent } from '../state/state.ts';
import { clearCondition, setCondition } from '../health/condition-set.ts';
import type { SystemGoal } from './system-goal.ts';
import type { SystemParts } from './system-parts.ts';

const firstRetryMs = 10_000;
const longestRetryMs = 6 * 60 * 60_000;
/** Other programs and users change files without notice. */
const recheckMs = 30 * 60_000;

/** The configuration of which one part of the system configuration is applied; `noContent`: none yet. */
export interface SystemApplied extends ConfigContent {
  /** A clause; undefined: another configuration is applied or being applied. */
  failure: { code: string; reason: string } | undefined;
  /** The newest requested upgrade that is done; undefined: not known. */
  upgradesDone?: number | undefined;
}

export interface KeptPart {
  /** Subject of the condition, for users. */
  name: string;
  goal: Cell<SystemGoal>;
  /** Changes end a wait, like a change of the goal. */
  woken?: Cell<unknown>;
  applied: Cell<SystemApplied>;
  /** @throws Error if the goal is not applied; its text is for users. */
  apply: (goal: SystemGoal, signal: AbortSignal) => Promise<void>;
}

/** Keeps the system at its goal: applies each change, and looks again later. Failures are retried with growing delay. */
export async function keepPart(part: KeptPart, parts: SystemParts, signal: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  let failures = 0;
  while (!signal.aborted) {
    const goal = part.goal.get();
    const woken = part.woken?.get();
    let waitMs = recheckMs;
    try {
      await part.apply(goal, signal);
      if (signal.aborted) return;
      failures = 0;
      clearOthers(part.name, '', parts);
      part.applied.set({ ...contentOf(goal), failure: undefined });
    } catch (error) {
      if (signal.aborted) return;
      waitMs = Math.min(firstRetryMs * 2 ** failures++, longestRetryMs);
      report(part, error, parts);
      log.warn('the system configuration is not applied; it is tried again', { part: part.name, error, waitMs });
    }
    if (part.goal.get() !== goal || part.woken?.get() !== woken) continue;
    const turn = new AbortController();
    const over = AbortSignal.any([turn.signal, signal]);
    const changed = [part.goal, ...(part.woken ? [part.woken] : [])].map((cell) => cell.changed(over));
    await Promise.race([clock.sleep(waitMs, over), ...changed]);
    turn.abort();
    if (part.goal.get() !== goal) failures = 0;
  }
}

function report({ name, applied }: KeptPart, error: unknown, parts: SystemParts): void {
  const reason = (isOwn(error) ? error.what : messageOf(error)).replace(/\.$/, '');
  const shown = isOwn(error) ? error : new PlatformError('SYSTEM_NOT_APPLIED', { part: name, reason });
  const { code, what, remedy } = shown;
  const sinceWall = parts.clock.wall();
  clearOthers(name, code, parts);
  setCondition(parts.conditions, { code, subject: name, severity: 'error', message: what, remedy, sinceWall });
  applied.update((before) => ({ ...contentOf(before), failure: { code, reason } }));
}

const isOwn = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && Object.hasOwn(systemErrors, error.code);

/** The first message is for users: it names the file and the cause. */
const messageOf = (error: unknown): string =>
  error instanceof PlatformError ? error.what : error instanceof Error ? error.message : errorText(error);

/** A part has one condition at a time. */
function clearOthers(name: string, code: string, { conditions }: SystemParts): void {
  for (const other of Object.keys(systemErrors)) if (other !== code) clearCondition(conditions, other, name);
}
