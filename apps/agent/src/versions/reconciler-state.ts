import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, type Cell } from '@platform/kit';
import { noContent, type ConfigContent, type Failure, type InstallStatus, type Release } from '../state/state.ts';
import type { Attempts } from './last-updates.ts';
import type { Held } from './backoff.ts';
import type { Exits } from './trial-exits.ts';
import type { Program } from './layout.ts';
import type { Goal } from './plans/update-plan.ts';
import type { Fetcher } from './fetch-ports.ts';
import type { Sources } from './sources.ts';
import type { ProgramStore } from './program-store.ts';
import type { Context } from '../health/context.ts';

/** What the windows of this machine depend on besides the configuration. */
export interface MaintenanceClock {
  /** Time zone that the machine is set to. */
  deviceZone: () => string;
  isTimeKnown: () => boolean;
  /** Corrects a noted time if the clock was set since; undefined: unknown. */
  sinceOf: (noted: number) => number | undefined;
}

export interface ProgramVersionParts extends Pick<Context, 'wanted' | 'actual' | 'clock' | 'log' | 'random'> {
  program: Program;
  store: ProgramStore;
  fetcher: Fetcher;
  sources: Sources;
  attempts: Attempts;
  exits: Exits;
  /** Platform of this machine: linux/amd64 … */
  platform: string;
  goal: Cell<Goal>;
  /** Id of the running version; null: none that is stored here. */
  running: () => string | null;
  /** Version that runs from outside versions/; empty: none. */
  elsewhere: string;
  /** False: the supervisor of this program does not start the version in bin/. */
  mayActivate: boolean;
  restart: (to: string) => void;
  maintenance: MaintenanceClock;
  /** False: the supervisor of this program does not restart it. */
  canRestart: boolean;
  /** The management server was reached in the last hour, so a new version has to reach it, too. */
  wasReached: () => boolean;
  /** A restart of this program interrupts the machine server. */
  interruptsServer: boolean;
}

/** What the reconciler of one program remembers between its passes. */
export interface VersionState {
  /** The failed download that waits for its retry. */
  held: Held | undefined;
  failure: Failure | undefined;
  /** The failure came from a step; the next success clears it. */
  isOfStep: boolean;
  /** Revision and desired version of the last pass. */
  seen: ConfigContent & { desired: string | null };
  /** Source URLs of builds by URL, by version id. */
  urls: Readonly<Record<string, string>>;
  /** The last pass used a goal of the management server, not of the cache. */
  isOfFresh: boolean;
  /** Nothing is pending. */
  isSettled: boolean;
}

export const initialState = (): VersionState => ({
  held: undefined,
  failure: undefined,
  isOfStep: false,
  seen: { ...noContent, desired: null },
  urls: {},
  isOfFresh: false,
  isSettled: false,
});

export const sliceOf = { agent: 'agentInstall', server: 'install' } as const;

/** Changes the observed state of one program. */
export function publishStatus(
  { program, actual }: Pick<ProgramVersionParts, 'program' | 'actual'>,
  change: Partial<InstallStatus>,
): void {
  const slice = sliceOf[program];
  const before = actual.get()[slice];
  const next = { ...before, ...change };
  if (JSON.stringify(next) !== JSON.stringify(before)) actual.update((a) => ({ ...a, [slice]: next }));
}

/** Identifies a file to download; failures count per file. */
export const releaseKey = ({ url, sha256 }: Pick<Release, 'url' | 'sha256'>): string => `${sha256} ${url}`;

/** The text of DISK_FULL contains the free space, which changes all the time. */
export const isSameFailure = (a: { code: string; text: string }, b: { code: string; text: string }): boolean =>
  a.text === b.text || (a.code === 'DISK_FULL' && b.code === 'DISK_FULL');

export function failureOf(error: unknown, before: Failure | undefined, wall: number): Failure {
  const known =
    error instanceof PlatformError ? error : new PlatformError('UPDATE_FAILED', { problem: errorText(error) }, error);
  const { code, what: text, remedy } = known;
  return { code, text, remedy, sinceWall: before && isSameFailure(before, { code, text }) ? before.sinceWall : wall };
}
