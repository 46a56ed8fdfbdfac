import type { Cell, Clock, Log } from '@platform/kit';
import type { Disk } from '../os/ports.ts';
import { appliedRevision, lookAtSlices, type Actor } from '../state/slices.ts';
import { sliceNames, type Actual, type Slices, type SliceStatus, type Wanted } from '../state/state.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';

export const appliedFile = 'state/applied.json';

interface Kept {
  revision: number;
  sinceWall: number;
}

interface AppliedParts {
  wanted: Cell<Wanted>;
  actual: Cell<Actual>;
  actor: Actor;
  disk: Disk;
  clock: Clock;
  log: Log;
}

/**
 * Keeps in `actual` which slices have put the desired configuration in effect, since when, and why the others have not.
 * The applied revision is stored: otherwise a failed revision would look like no configuration at all after each
 * restart.
 *
 * @returns the loop that continues; `actual` holds a first result by then.
 */
export async function openApplied(parts: AppliedParts): Promise<(signal: AbortSignal) => Promise<void>> {
  const { wanted, actual, actor, disk, clock, log } = parts;
  const { value: kept = {} } = await readChecked(disk, appliedFile, keptOf);
  actual.update((a) => ({ ...a, applied: kept['whole']?.revision ?? 0 }));
  const look = (): Pick<Actual, 'slices' | 'applied'> => {
    const before = actual.get();
    const slices = nextSlices(wanted.get(), before, actor, before.slices, kept, clock.wall());
    const applied = appliedRevision(wanted.get(), slices, before.applied);
    if (applied !== before.applied || JSON.stringify(slices) !== JSON.stringify(before.slices))
      actual.update((a) => ({ ...a, slices, applied }));
    const observed = Object.fromEntries(sliceNames.map((name) => [name, slices[name]?.at]));
    log.debug('pass', { by: 'applied', observed: { revision: wanted.get().revision, ...observed }, applied });
    return { slices, applied };
  };
  let stored = revisionsOf(look());
  return async (signal) => {
    while (!signal.aborted) {
      const now = look();
      const revisions = revisionsOf(now);
      if (revisions === stored) {
        await eitherChanged(wanted, actual, signal);
        continue;
      }
      // Write on changes of revisions only: a server in a crash loop must not wear out the flash.
      stored = revisions;
      const whole = { at: 'in effect', revision: now.applied, sinceWall: 0 };
      await writeChecked(disk, appliedFile, { ...now.slices, whole }).catch((error: unknown) =>
        log.debug('what is in effect is not stored', { error }),
      );
    }
  };
}

const revisionsOf = ({ slices, applied }: Pick<Actual, 'slices' | 'applied'>): string =>
  JSON.stringify([applied, ...sliceNames.map((name) => slices[name]?.revision)]);

export function nextSlices(
  wanted: Wanted,
  actual: Actual,
  actor: Actor,
  before: Slices,
  kept: Partial<Record<string, Kept & { at: string }>>,
  wall: number,
): Slices {
  const looks = lookAtSlices(wanted, actual, actor);
  return Object.fromEntries(
    sliceNames.map((name): [string, SliceStatus] => {
      const look = looks[name];
      const last = before[name] ?? kept[name];
      // A slice that does nothing now must not count as lagging once it acts.
      const revision = look.at === 'lagging' ? Math.min(last?.revision ?? 0, wanted.revision) : wanted.revision;
      const isSame = last?.at === look.at && (look.at !== 'in effect' || last.revision === revision);
      return [name, { ...look, revision, sinceWall: isSame ? last.sinceWall : wall }];
    }),
  );
}

function keptOf(value: unknown): Partial<Record<string, Kept & { at: string }>> {
  const json = value as Partial<Record<string, Kept & { at: string }>>;
  for (const name of [...sliceNames, 'whole']) {
    const one = json[name];
    if (one && !(Number.isSafeInteger(one.revision) && Number.isFinite(one.sinceWall))) throw new Error('no revision');
  }
  return json;
}

async function eitherChanged(a: Cell<unknown>, b: Cell<unknown>, signal: AbortSignal): Promise<void> {
  const turn = new AbortController();
  const over = AbortSignal.any([turn.signal, signal]);
  await Promise.race([a.changed(over), b.changed(over)]);
  turn.abort();
}
