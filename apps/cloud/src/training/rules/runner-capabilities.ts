/** Capabilities of a runner, from its last request for work. */
export interface Capabilities {
  readonly kinds: readonly string[];
  readonly gpus: number;
  readonly containers: readonly ScriptContainer[];
  /** Why `kinds` lacks custom, with the remedy. */
  readonly noScriptsBecause: string;
}
export interface ScriptContainer {
  readonly key: string;
  readonly uri: string;
  readonly framework: string;
  readonly description: string;
  /** ms since 1970. */
  readonly eolMs: number | null;
}

/** Requirements of a job. */
export interface JobRequirements {
  readonly kind: string;
  readonly gpus: number;
  /** '': any container. */
  readonly container: string;
}

/** Runners request work constantly. One that is silent for this long is not expected to take a job now. */
export const silentRunnerMs = 120_000;

export const canRunJob = (
  runner: Pick<Capabilities, 'kinds' | 'gpus' | 'containers'>,
  { kind, gpus, container }: JobRequirements,
): boolean =>
  runner.kinds.includes(kind) &&
  runner.gpus >= gpus &&
  (container === '' || runner.containers.some(({ key }) => key === container));

/** Waiting jobs with equal requirements. */
export interface WaitingJobs extends JobRequirements {
  readonly count: number;
}

/**
 * Position of a job in the queue: the number of waiting jobs, itself included, that a capable runner takes first. With
 * several such runners, the smallest number counts. Jobs that only other runners can run are not counted.
 *
 * @param waiting - jobs of its organization that are as old or older, itself included.
 * @param runners - those that may take it.
 */
export function queuePlace(
  job: JobRequirements,
  waiting: readonly WaitingJobs[],
  runners: readonly Capabilities[],
): number {
  const able = runners.filter((runner) => canRunJob(runner, job));
  const sum = (isMeant: (one: JobRequirements) => boolean): number =>
    waiting.filter(isMeant).reduce((all, { count }) => all + count, 0);
  const isSame = ({ kind, gpus, container }: JobRequirements): boolean =>
    kind === job.kind && gpus === job.gpus && container === job.container;
  const places = able.map((runner) => sum((one) => canRunJob(runner, one)));
  return Math.max(1, able.length === 0 ? sum(isSame) : Math.min(...places));
}

/** Capabilities of a runner that was not seen for this long are ignored. */
export const capabilitiesLifetimeMs = 24 * 3_600_000;

/** Containers for scripts by key; the first one of a key is used. */
export function containersOf(runners: readonly Capabilities[]): Map<string, ScriptContainer> {
  const found = new Map<string, ScriptContainer>();
  for (const runner of runners) {
    if (!runner.kinds.includes('custom')) continue;
    for (const container of runner.containers) if (!found.has(container.key)) found.set(container.key, container);
  }
  return found;
}

/** Why no runner runs scripts; undefined: at least one does. */
export function noScriptsBecause(runners: readonly Capabilities[]): string | undefined {
  if (runners.some(({ kinds }) => kinds.includes('custom'))) return undefined;
  if (runners.length === 0) return 'none has requested work within a day';
  return runners.find((runner) => runner.noScriptsBecause !== '')?.noScriptsBecause ?? 'theirs are of an older version';
}

/**
 * Why a waiting job does not start, and what to do; '': it only waits for its turn.
 *
 * @param runners - those of its organization that were seen within `capabilitiesLifetimeMs`.
 */
export function waitingFor(job: JobRequirements, runners: readonly Capabilities[]): string {
  if (runners.length === 0)
    return 'No runner has requested work within a day. Start one, or check why it cannot reach the server.';
  const ofKind = runners.filter(({ kinds }) => kinds.includes(job.kind));
  if (ofKind.length === 0) {
    if (job.kind === 'predict') return 'No runner makes suggestions. Start a runner of this version.';
    return job.kind === 'custom'
      ? `No runner can run training scripts: ${noScriptsBecause(runners) ?? ''}`
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
