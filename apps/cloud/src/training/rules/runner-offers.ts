/** What a runner offers, as it said when it asked for work last. */
export interface Offer {
  readonly kinds: readonly string[];
  readonly gpus: number;
  readonly containers: readonly OfferedContainer[];
  /** Why kinds lacks custom; with the remedy. */
  readonly noScriptsBecause: string;
}
export interface OfferedContainer {
  readonly key: string;
  readonly uri: string;
  readonly framework: string;
  readonly description: string;
  /** ms since 1970. */
  readonly eolMs: number | null;
}

/** What a job wants of a runner. */
export interface Wants {
  readonly kind: string;
  readonly gpus: number;
  /** '': any. */
  readonly container: string;
}

/** A runner asks for work all the time; one that was silent for so long takes no job now. */
export const silentRunnerMs = 120_000;

const canRun = (offer: Pick<Offer, 'kinds' | 'gpus' | 'containers'>, { kind, gpus, container }: Wants): boolean =>
  offer.kinds.includes(kind) &&
  offer.gpus >= gpus &&
  (container === '' || offer.containers.some(({ key }) => key === container));

/** Jobs of one kind of needs that wait in front of a job, itself among them. */
export interface WaitingJobs extends Wants {
  readonly count: number;
}

/**
 * Place of a job in the queue: how many waiting jobs a runner that can run it takes before it, and itself; of several runners the one
 * with the fewest. Jobs that only other runners can run do not count.
 *
 * @param waiting - jobs of its organization that are as old or older, itself among them.
 * @param offers - of the runners that may take it.
 */
export function queuePlace(job: Wants, waiting: readonly WaitingJobs[], offers: readonly Offer[]): number {
  const able = offers.filter((offer) => canRun(offer, job));
  const sum = (isMeant: (one: Wants) => boolean): number =>
    waiting.filter(isMeant).reduce((all, { count }) => all + count, 0);
  const isSame = ({ kind, gpus, container }: Wants): boolean =>
    kind === job.kind && gpus === job.gpus && container === job.container;
  const places = able.map((offer) => sum((one) => canRun(offer, one)));
  return Math.max(1, able.length === 0 ? sum(isSame) : Math.min(...places));
}

/** A runner that was not seen for so long is no longer counted on. */
export const offerLifeMs = 24 * 3_600_000;

/** Environments for scripts, each once; of the same key the first counts. */
export function containersOf(offers: readonly Offer[]): Map<string, OfferedContainer> {
  const found = new Map<string, OfferedContainer>();
  for (const offer of offers) {
    if (!offer.kinds.includes('custom')) continue;
    for (const container of offer.containers) if (!found.has(container.key)) found.set(container.key, container);
  }
  return found;
}

/** Why nobody runs scripts; undefined: somebody does. */
export function noScriptsBecause(offers: readonly Offer[]): string | undefined {
  if (offers.some(({ kinds }) => kinds.includes('custom'))) return undefined;
  if (offers.length === 0) return 'none has asked for work within a day';
  return offers.find((offer) => offer.noScriptsBecause !== '')?.noScriptsBecause ?? 'theirs are of an older version';
}

/**
 * Why a waiting job does not start, and what to do; '': it only waits for its turn.
 *
 * @param offers - of the runners of its organization that were seen within offerLifeMs.
 */
export function waitingFor(job: Wants, offers: readonly Offer[]): string {
  if (offers.length === 0)
    return 'No runner has asked for work within a day. Start one, or look why it cannot reach the server.';
  const ofKind = offers.filter(({ kinds }) => kinds.includes(job.kind));
  if (ofKind.length === 0) {
    return job.kind === 'custom'
      ? `No runner can run training scripts: ${noScriptsBecause(offers) ?? ''}`
      : `No runner trains models of the type ${job.kind}. Start a runner of this version.`;
  }
  const withContainer = ofKind.filter(
    ({ containers }) => job.container === '' || containers.some(({ key }) => key === job.container),
  );
  if (withContainer.length === 0) {
    const known = [...containersOf(ofKind).keys()].join(', ') || 'none';
    return `No runner offers the container "${job.container}"; there are: ${known}. Start a runner that offers it, or submit again with another one.`;
  }
  const most = Math.max(...withContainer.map(({ gpus }) => gpus));
  if (job.gpus > most) {
    return `No runner has ${job.gpus} GPUs for a job; the most is ${most}. Start a runner that has, or submit again with fewer.`;
  }
  return '';
}
