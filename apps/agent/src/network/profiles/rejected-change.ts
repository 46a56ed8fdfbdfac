import type { Clock } from '@platform/kit';
import type { Disk } from '../../os/ports.ts';
import { forgetChecked, readChecked, writeChecked } from '../../storage/checked-file.ts';
import type { ChangeProblem } from './change-proof.ts';

const rejectedFile = 'state/network-change.json';
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Before each further trial. Each costs a machine that a change really cuts off up to three minutes. */
const waitsMs = [10 * minuteMs, hourMs, 6 * hourMs, 24 * hourMs] as const;
/** The management server must have been within reach for this long: the outage is over. */
const steadyMs = 5 * minuteMs;

/** A change of networks that was rolled back. */
export interface Rejected {
  /** Identifies the networks that were wanted. */
  digest: string;
  /** A clause without a full stop. */
  reason: string;
  isRefused: boolean;
  sinceWall: number;
  /** When it was tried last. */
  triedWall: number;
  /** How often it was tried. */
  trials: number;
}

/** What was rolled back, and when it is tried again: an outage during the trial must not reject a change for good. */
export class RejectedChange {
  readonly #disk: Disk;
  readonly #clock: Clock;
  /** Undefined: the management server is out of reach. */
  #reachedSince: number | undefined;

  constructor({ disk, clock }: { disk: Disk; clock: Clock }) {
    this.#disk = disk;
    this.#clock = clock;
  }

  /** Call it with each change. */
  noteReached(isReached: boolean): void {
    this.#reachedSince = isReached ? (this.#reachedSince ?? this.#clock.now()) : undefined;
  }

  /** Forgets one of other networks. @returns the one of these */
  async of(digest: string): Promise<Rejected | undefined> {
    const { value } = await readChecked(this.#disk, rejectedFile, rejectedOf);
    if (value && value.digest !== digest) await this.forget();
    return value?.digest === digest ? value : undefined;
  }

  async reject(digest: string, { reason, isRefused }: ChangeProblem, before: Rejected | undefined): Promise<Rejected> {
    const wall = this.#clock.wall();
    const trials = (before?.trials ?? 0) + 1;
    const sinceWall = before?.sinceWall ?? wall;
    const next: Rejected = { digest, reason, isRefused, sinceWall, triedWall: wall, trials };
    await writeChecked(this.#disk, rejectedFile, next);
    return next;
  }

  async forget(): Promise<void> {
    await forgetChecked(this.#disk, rejectedFile);
  }

  /** Until it is tried again if the management server stays within reach; Infinity: not before that changes, or never. */
  waitMs(rejected: Rejected): number {
    const at = retryWall(rejected);
    if (at === undefined || this.#reachedSince === undefined) return Infinity;
    // A clock that was set back must not make it wait longer.
    const sinceTrialMs = Math.max(this.#clock.wall() - rejected.triedWall, 0);
    const leftMs = at - rejected.triedWall - sinceTrialMs;
    return Math.max(leftMs, this.#reachedSince + steadyMs - this.#clock.now(), 0);
  }
}

/** When it is tried again at the earliest; undefined: only with other networks. */
function retryWall({ isRefused, triedWall, trials }: Rejected): number | undefined {
  const waitMs = isRefused ? undefined : waitsMs[trials - 1];
  return waitMs === undefined ? undefined : triedWall + waitMs;
}

const retryOfRefused =
  'The agent tries again when additional_networks changes, or when the network refuses the earlier password, too.';

/** When it is tried again, as a sentence for users. */
export function retryText(rejected: Rejected): string {
  const at = retryWall(rejected);
  if (at === undefined)
    return rejected.isRefused ? retryOfRefused : 'The agent tries again when additional_networks changes.';
  const when = `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const most = waitsMs.length + 1;
  return `The agent tries this change again after ${when}, once the management server has been reachable for ${steadyMs / minuteMs} minutes (trial ${rejected.trials + 1} of ${most}).`;
}

function rejectedOf(value: unknown): Rejected {
  const { digest, reason, isRefused, sinceWall, triedWall, trials } = value as Partial<Rejected>;
  if (typeof digest !== 'string' || typeof reason !== 'string') throw new Error('it names no change');
  const since = typeof sinceWall === 'number' ? sinceWall : 0;
  return {
    digest,
    reason,
    isRefused: isRefused === true,
    sinceWall: since,
    triedWall: typeof triedWall === 'number' ? triedWall : since,
    trials: typeof trials === 'number' && trials >= 1 ? Math.floor(trials) : 1,
  };
}
