import type { SliceStateName } from '@platform/contract/machine/program-states';
import type { ConfigSliceStatus, ConfigStatus } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ConfigSlice, SliceState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { msOf } from '../../ui/times.ts';

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

export const sliceViews = (status: ConfigStatus | undefined): SliceView[] => (status?.slices ?? []).flatMap(viewsOf);

function viewsOf({ slice, state, since, code, reason, ineffectivePaths }: ConfigSliceStatus): SliceView[] {
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
