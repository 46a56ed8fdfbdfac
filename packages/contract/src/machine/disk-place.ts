import type { DiskFacts } from '../gen/platform/fleet/v1/fleet_pb.ts';

/** For display after the word disk: where it is mounted if that is not /, and whether it can hold another file. */
export const diskPlace = ({ mountPoint, freeInodes }: Pick<DiskFacts, 'mountPoint' | 'freeInodes'>): string =>
  [
    ...(mountPoint === '' || mountPoint === '/' ? [] : [` at ${mountPoint}`]),
    ...(freeInodes === 0n ? [' (no inodes free)'] : []),
  ].join('');
