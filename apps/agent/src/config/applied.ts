import { anyChanged } from '@platform/kit';
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
import type { Context } from '../health/context.ts';

export const appliedFile = 'state/applied.json';

type KeptSlice = Pick<SliceStatus, 'at' | 'content' | 'proof' | 'sinceWall'>;
export type KeptSlices = Partial<Readonly<Record<SliceName, KeptSlice>>>;

interface Kept {
  slices: KeptSlices;
  received: ReceivedContents;
}

interface AppliedParts extends Pick<Context, 'wanted' | 'actual' | 'disk' | 'clock' | 'log'> {
  actor: Actor;
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
        await anyChanged([wanted, actual], signal);
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

const mostRevisions = 50;
const mostContents = 4;

/** Contents that this machine received under each number of a revision, newest number last. Pure; stored by its user. */
type ReceivedContents = Readonly<Record<string, readonly string[]>>;

/** @returns the same object if the content is known. */
function withContent(known: ReceivedContents, { revision, configSha256 }: ConfigContent): ReceivedContents {
  const before = known[revision] ?? [];
  if (configSha256 === '' || before.at(-1) === configSha256) return known;
  const contents = [...before.filter((one) => one !== configSha256), configSha256].slice(-mostContents);
  const others = Object.entries(known).filter(([number]) => number !== String(revision));
  return Object.fromEntries([...others.slice(1 - mostRevisions), [String(revision), contents]]);
}

/** After a restored backup, a number comes again with another content. */
const hadOtherContent = (known: ReceivedContents, { revision, configSha256 }: ConfigContent): boolean =>
  (known[revision] ?? []).some((one) => one !== configSha256);

function receivedContentsOf(value: unknown): ReceivedContents {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(
    entries.flatMap(([number, contents]: [string, unknown]) =>
      Array.isArray(contents) ? [[number, contents.filter((one) => typeof one === 'string')] as const] : [],
    ),
  );
}
