import type { SliceStateName } from '@platform/contract/program-states';
import type { Machine, SliceStatus } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ConfigSlice, SliceState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { msOf } from './times.ts';

/** A slice of the machine that lags, does not report, or ignores fields of the configuration. */
export interface SliceView {
  name: string;
  state: Exclude<SliceStateName, 'in effect'>;
  /** Since when the slice lags, ms since 1970. */
  since: number | undefined;
  reason: string;
  code: string;
  /** Fields that have no effect on this machine. */
  paths: readonly string[];
}

const names: Readonly<Record<number, string>> = {
  [ConfigSlice.SETTINGS]: 'Settings',
  [ConfigSlice.VERSIONS]: 'Versions',
  [ConfigSlice.NETWORK]: 'Network',
  [ConfigSlice.SYSTEM]: 'System',
  [ConfigSlice.SERVER]: 'Machine server',
};

export const isLagging = (report: Machine['report']): boolean =>
  report?.slices.some(({ state }) => state === SliceState.LAGGING) ?? false;

/** Some saved fields have no effect on this machine, or the machine does not report whether they have. */
export const isPartly = (report: Machine['report']): boolean =>
  report?.slices.some(
    ({ state, ineffectivePaths }) => state === SliceState.NOT_REPORTED || ineffectivePaths.length > 0,
  ) ?? false;

/** The newest revision that the machine has received; its report describes this one. */
export const receivedRevision = (report: Machine['report']): bigint =>
  (report?.slices ?? []).reduce(
    (newest, { appliedRevision }) => (appliedRevision > newest ? appliedRevision : newest),
    report?.appliedRevision ?? 0n,
  );

export const sliceViews = (report: Machine['report']): SliceView[] => (report?.slices ?? []).flatMap(viewsOf);

function viewsOf({ slice, state, since, code, reason, ineffectivePaths }: SliceStatus): SliceView[] {
  const name = names[slice] ?? 'Another part';
  const about = { name, reason, code };
  const views: SliceView[] = [];
  if (state === SliceState.LAGGING) views.push({ ...about, state: 'lagging', since: msOf(since), paths: [] });
  if (state === SliceState.NOT_REPORTED) views.push({ ...about, state: 'not reported', since: undefined, paths: [] });
  if (ineffectivePaths.length > 0)
    views.push({
      ...about,
      reason: state === SliceState.NO_EFFECT ? reason : '',
      state: 'no effect',
      since: undefined,
      paths: ineffectivePaths,
    });
  return views;
}
