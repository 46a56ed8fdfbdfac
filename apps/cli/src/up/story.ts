import { appendFileSync } from 'node:fs';
import { PlatformApiError, type PlatformClient } from '@platform/client';
import { errorText, type Clock } from '@platform/kit';
import type { ReleaseFile } from '../archive.ts';
import type { MachineFolder } from './folders.ts';
import type { Progress } from './progress.ts';

/** Size of the demo: `small` trains a probe on 40 images in seconds, for tests. */
export interface StorySize {
  readonly objects: number;
  readonly trainPerObject: number;
  readonly testPerObject: number;
  readonly recipe: 'compact' | 'probe';
  /** Required share of right predictions on held-out images. */
  readonly mustBeRight: number;
}
export const sizes: Readonly<Record<'full' | 'small', StorySize>> = {
  full: { objects: 10, trainPerObject: 12, testPerObject: 20, recipe: 'compact', mustBeRight: 0.8 },
  small: { objects: 4, trainPerObject: 10, testPerObject: 5, recipe: 'probe', mustBeRight: 0.5 },
};

/**
 * Environment of the steps. Every step checks the state first and does only what is missing, so it can be repeated
 * after a kill.
 */
export interface StoryWorld {
  readonly client: PlatformClient;
  readonly url: string;
  readonly organizationId: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly size: StorySize;
  readonly seed: number;
  readonly releases: readonly ReleaseFile[];
  /** Folder of the release signing keys; for development only, because they are as safe as the folder. */
  readonly keyFolder: string;
  readonly machineFolder: MachineFolder;
  /** Starts the agent on the machine folder, once. */
  startAgent(): Promise<void>;
  show(event: Progress): void;
  /** Appends an action to the event log. */
  record(what: string, fields?: Readonly<Record<string, string | number>>): void;
}

export interface StepResult {
  /** One short sentence for users. */
  readonly note: string;
  /** Verified facts, for programs. */
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface Step {
  readonly name: string;
  readonly title: string;
  run(world: StoryWorld, done: ReadonlyMap<string, StepResult>): Promise<StepResult>;
}

export interface StoryReport {
  readonly ok: boolean;
  readonly steps: readonly { step: string; ok: boolean; seconds: number; note: string }[];
  readonly facts: Readonly<Record<string, unknown>>;
  readonly error?: string;
}

/** A failed call has a complete message; its chain of causes would only repeat it. */
const wordsOf = (error: unknown): string => (error instanceof PlatformApiError ? error.message : errorText(error));

/** Runs the steps in order and stops at the first failure. */
export async function runStory(steps: readonly Step[], world: StoryWorld): Promise<StoryReport> {
  const done = new Map<string, StepResult>();
  const rows: { step: string; ok: boolean; seconds: number; note: string }[] = [];
  const facts = (): Record<string, unknown> =>
    Object.assign({}, ...[...done.values()].map((result) => result.facts)) as Record<string, unknown>;
  for (const step of steps) {
    const since = world.clock.now();
    const seconds = (): number => Math.round((world.clock.now() - since) / 100) / 10;
    world.show({ is: 'begin', step: step.name, title: step.title });
    world.record(`${step.name}: begin`);
    try {
      const result = await step.run(world, done);
      done.set(step.name, result);
      rows.push({ step: step.name, ok: true, seconds: seconds(), note: result.note });
      world.record(`${step.name}: end`);
      world.show({ is: 'end', step: step.name, title: step.title, seconds: seconds(), note: result.note });
    } catch (error) {
      const message = world.signal.aborted ? 'stopped' : wordsOf(error);
      rows.push({ step: step.name, ok: false, seconds: seconds(), note: message });
      world.show({ is: 'fail', step: step.name, title: step.title, message });
      return { ok: false, steps: rows, facts: facts(), error: `${step.title}: ${message}` };
    }
  }
  return { ok: true, steps: rows, facts: facts() };
}

/** Polls `look` until it returns a result; throws an error with `what` and `remedy` after `limitMs`. */
export async function until<T>(
  { clock, signal }: Pick<StoryWorld, 'clock' | 'signal'>,
  { what, remedy, limitMs, everyMs = 250 }: { what: string; remedy: string; limitMs: number; everyMs?: number },
  look: () => Promise<T | undefined>,
): Promise<T> {
  const end = clock.now() + limitMs;
  let last: unknown;
  while (!signal.aborted) {
    try {
      const observed = await look();
      if (observed !== undefined) return observed;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (clock.now() > end) {
      const why = last === undefined ? '' : ` The last answer was: ${wordsOf(last)}`;
      throw new Error(`${what} did not happen within ${Math.round(limitMs / 1000)} s.${why} ${remedy}`);
    }
    await clock.sleep(everyMs, signal);
  }
  throw new Error('stopped');
}

/** The event log of a data folder: one JSON line per event, appended immediately. */
export function eventLog(file: string, clock: Clock): StoryWorld['record'] {
  return (what, fields = {}) => appendFileSync(file, `${JSON.stringify({ at: clock.wall(), what, ...fields })}\n`);
}
