/** Capabilities of a runner, from its last request for work. */
export interface Offer {
  readonly kinds: readonly string[];
  readonly gpus: number;
  readonly containers: readonly OfferedContainer[];
  /** Why `kinds` lacks custom, with the remedy. */
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

/** Requirements of a job. */
export interface Wants {
  readonly kind: string;
  readonly gpus: number;
  /** '': any container. */
  readonly container: string;
}

/** Runners request work constantly. One that is silent for this long is not expected to take a job now. */
export const silentRunnerMs = 120_000;

const canRun = (offer: Pick<Offer, 'kinds' | 'gpus' | 'containers'>, { kind, gpus, container }: Wants): boolean =>
  offer.kinds.includes(kind) &&
  offer.gpus >= gpus &&
  (container === '' || offer.containers.some(({ key }) => key === container));

/** Waiting jobs with equal requirements. */
export interface WaitingJobs extends Wants {
  readonly count: number;
}

/**
 * Position of a job in the queue: the number of waiting jobs, itself included, that a capable runner takes first. With
 * several such runners, the smallest number counts. Jobs that only other runners can run are not counted.
 *
 * @param waiting - jobs of its organization that are as old or older, itself included.
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

/** Capabilities of a runner that was not seen for this long are ignored. */
export const offerLifeMs = 24 * 3_600_000;

/** Containers for scripts by key; the first one of a key is used. */
export function containersOf(offers: readonly Offer[]): Map<string, OfferedContainer> {
  const found = new Map<string, OfferedContainer>();
  for (const offer of offers) {
    if (!offer.kinds.includes('custom')) continue;
    for (const container of offer.containers) if (!found.has(container.key)) found.set(container.key, container);
  }
  return found;
}

/** Why no runner runs scripts; undefined: at least one does. */
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
