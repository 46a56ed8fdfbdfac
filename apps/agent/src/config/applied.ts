import type { Cell, Clock, Log } from '@platform/kit';
import type { Disk } from '../os/ports.ts';
import { appliedRevision, lookAtSlices, type Actor, type SliceLook } from '../state/slices.ts';
import {
  isSameConfig,
  noContent,
  sliceNames,
  type Actual,
  type ConfigContent,
  type SliceName,
  type Slices,
  type SliceStatus,
  type Wanted,
} from '../state/state.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { hadOtherContent, receivedContentsOf, withContent, type ReceivedContents } from './received-contents.ts';

export const appliedFile = 'state/applied.json';

type KeptSlice = Pick<SliceStatus, 'at' | 'content' | 'proof' | 'sinceWall'>;
export type KeptSlices = Partial<Readonly<Record<SliceName, KeptSlice>>>;

interface Kept {
  slices: KeptSlices;
  received: ReceivedContents;
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
 * Keeps in `actual` which slices have the desired configuration in effect, since when, and why the others have not.
 * The file keeps times, and what a configuration in effect looked like on this machine. It claims nothing: a
 * configuration is named only while the machine is observed in that state now.
 *
 * @returns the loop that continues; `actual` holds a first result by then.
 */
export async function openApplied(parts: AppliedParts): Promise<(signal: AbortSignal) => Promise<void>> {
  const { wanted, actual, disk, clock, log } = parts;
  const { value: kept = { slices: {}, received: {} } } = await readChecked(disk, appliedFile, keptOf);
  let { received } = kept;
  const actor: Actor = { ...parts.actor, hadOtherContent: (content) => hadOtherContent(received, content) };
  const look = (): Kept => {
    const before = actual.get();
    received = withContent(received, wanted.get());
    const slices = nextSlices(wanted.get(), before, actor, before.slices, kept.slices, clock.wall());
    const applied = appliedRevision(slices);
    if (applied !== before.applied || JSON.stringify(slices) !== JSON.stringify(before.slices))
      actual.update((a) => ({ ...a, slices, applied }));
    const observed = Object.fromEntries(sliceNames.map((name) => [name, slices[name]?.at]));
    log.debug('pass', { by: 'applied', observed: { revision: wanted.get().revision, ...observed }, applied });
    return { slices, received };
  };
  let stored = contentsIn(look());
  return async (signal) => {
    while (!signal.aborted) {
      const now = look();
      const contents = contentsIn(now);
      if (contents === stored) {
        await eitherChanged(wanted, actual, signal);
        continue;
      }
      // Write on changes of contents only: a server in a crash loop must not wear out the flash.
      stored = contents;
      await writeChecked(disk, appliedFile, now satisfies Kept).catch((error: unknown) =>
        log.debug('what is in effect is not stored', { error }),
      );
    }
  };
}

const contentsIn = ({ slices, received }: Kept): string =>
  JSON.stringify([received, ...sliceNames.map((name) => [slices[name]?.proof, slices[name]?.content])]);

export function nextSlices(
  wanted: Wanted,
  actual: Actual,
  actor: Actor,
  before: Slices,
  kept: KeptSlices,
  wall: number,
): Slices {
  const looks = lookAtSlices(wanted, actual, actor);
  return Object.fromEntries(
    sliceNames.map((name): [string, SliceStatus] => {
      const { basis, ...look } = looks[name];
      const last: KeptSlice | undefined = before[name] ?? kept[name];
      const proof = look.at === 'in effect' ? { content: look.content, basis } : last?.proof;
      const content = actingContent(looks[name], proof);
      const isSame = last?.at === look.at && (look.at !== 'in effect' || isSameConfig(last.content, content));
      return [name, { ...look, content, proof, sinceWall: isSame ? last.sinceWall : wall }];
    }),
  );
}

/** A lagging slice still has the earlier configuration in effect if the machine acts on the same as then. */
function actingContent({ at, content, basis }: SliceLook, proof: SliceStatus['proof']): ConfigContent {
  return at === 'lagging' && basis !== '' && proof?.basis === basis ? proof.content : content;
}

function keptOf(value: unknown): Kept {
  const { slices, received } = value as Partial<Record<keyof Kept, unknown>>;
  const json = (slices ?? {}) as Partial<Record<SliceName, Partial<KeptSlice>>>;
  const entries = sliceNames.flatMap((name) => {
    const one = json[name];
    if (!one) return [];
    if (typeof one.at !== 'string' || !Number.isFinite(one.sinceWall)) throw new Error('no state of a slice');
    const { at, sinceWall = 0, proof, content = noContent } = one;
    return [[name, { at, sinceWall, content, proof }] as const];
  });
  return { slices: Object.fromEntries(entries), received: receivedContentsOf(received) };
}

async function eitherChanged(a: Cell<unknown>, b: Cell<unknown>, signal: AbortSignal): Promise<void> {
  const turn = new AbortController();
  const over = AbortSignal.any([turn.signal, signal]);
  await Promise.race([a.changed(over), b.changed(over)]);
  turn.abort();
}
