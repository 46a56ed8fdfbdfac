import { errorText, type Cell, changedOr } from '@platform/kit';
import { systemConditions } from '@platform/contract/conditions/rows/system';
import { PlatformError, type ErrorCode } from '@platform/contract/errors/errors';
import { contentOf, type ConfigContent } from '../state/state.ts';
import { clearCondition, setCondition, setErrorCondition } from '../health/condition-set.ts';
import type { SystemGoal } from './system-goal.ts';
import type { SystemParts } from './system-parts.ts';

const firstRetryMs = 10_000;
const longestRetryMs = 6 * 60 * 60_000;
/** Other programs and users change files without notice. */
const recheckMs = 30 * 60_000;

/** The configuration of which one group of settings is applied; `noContent`: none yet. */
export interface SystemApplied extends ConfigContent {
  /** A clause; undefined: another configuration is applied or being applied. */
  failure: { code: string; reason: string } | undefined;
  /** The newest requested upgrade that is done; undefined: not known. */
  upgradesDone?: number | undefined;
}

export interface KeptSettings {
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
export async function keepSettings(kept: KeptSettings, parts: SystemParts, signal: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  let failures = 0;
  while (!signal.aborted) {
    const goal = kept.goal.get();
    const woken = kept.woken?.get();
    let waitMs = recheckMs;
    try {
      await kept.apply(goal, signal);
      if (signal.aborted) return;
      failures = 0;
      clearOthers(kept.name, '', parts);
      kept.applied.set({ ...contentOf(goal), failure: undefined });
    } catch (error) {
      if (signal.aborted) return;
      waitMs = Math.min(firstRetryMs * 2 ** failures++, longestRetryMs);
      report(kept, error, parts);
      log.warn('the system configuration is not applied; it is tried again', { group: kept.name, error, waitMs });
    }
    if (kept.goal.get() !== goal || kept.woken?.get() !== woken) continue;
    await changedOr(kept.woken ? [kept.goal, kept.woken] : kept.goal, waitMs, clock, signal);
    if (kept.goal.get() !== goal) failures = 0;
  }
}

function report({ name, applied }: KeptSettings, error: unknown, parts: SystemParts): void {
  const reason = messageOf(error).replace(/\.$/, '');
  const about = { subject: name, sinceWall: parts.clock.wall() };
  const code = isOwn(error) ? error.code : 'SYSTEM_NOT_APPLIED';
  clearOthers(name, code, parts);
  if (isOwn(error)) setErrorCondition(parts.conditions, error, about);
  else setCondition(parts.conditions, 'SYSTEM_NOT_APPLIED', { group: name, reason }, about);
  applied.update((before) => ({ ...contentOf(before), failure: { code, reason } }));
}

type Code = keyof typeof systemConditions;
const codes = Object.keys(systemConditions) as Code[];
const isOwn = (error: unknown): error is PlatformError & { code: Extract<Code, ErrorCode> } =>
  error instanceof PlatformError && Object.hasOwn(systemConditions, error.code);

/** The first message is for users: it names the file and the cause. */
const messageOf = (error: unknown): string =>
  error instanceof PlatformError ? error.what : error instanceof Error ? error.message : errorText(error);

/** A group has one condition at a time. */
function clearOthers(name: string, code: Code | '', { conditions }: SystemParts): void {
  for (const other of codes) if (other !== code) clearCondition(conditions, other, name);
}
