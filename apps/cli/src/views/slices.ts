import { formatDuration } from '@platform/kit';
import {
  type ConfigSlice,
  ConfigSliceSchema,
  type Machine,
  type SliceStatus,
  SliceState,
  SliceStateSchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { enumWord, isoTime, printable } from '../output.ts';

const nameOf = (slice: ConfigSlice): string => enumWord(ConfigSliceSchema, slice);

export const sliceJson = (status: SliceStatus): Record<string, unknown> => ({
  slice: nameOf(status.slice),
  state: enumWord(SliceStateSchema, status.state),
  applied_revision: Number(status.appliedRevision),
  since: isoTime(status.since),
  code: status.code,
  reason: status.reason,
  ineffective_paths: status.ineffectivePaths,
});

/** State of the machine's configuration; "in effect" without qualification only if all saved fields are. */
export function configText({ report, wantedRevision, hasOtherAgent }: Machine): string {
  if (wantedRevision === 0n) return 'none saved yet, the defaults hold';
  if (hasOtherAgent) return `revision ${receivedRevision(report)} received, ${wantedRevision} saved`;
  const applied = report?.appliedRevision ?? 0n;
  const slices = report?.slices ?? [];
  const isLagging = applied < wantedRevision || slices.some(({ state }) => state === SliceState.LAGGING);
  if (isLagging)
    return `revision ${wantedRevision} saved, not in effect${applied > 0n && applied < wantedRevision ? `; ${applied} is` : ''}`;
  const isPartly = slices.some(
    ({ state, ineffectivePaths }) => state === SliceState.NOT_REPORTED || ineffectivePaths.length > 0,
  );
  return `revision ${applied} ${isPartly ? 'partly ' : ''}in effect, ${wantedRevision} saved`;
}

/** Newest revision that the machine has reported as received. */
const receivedRevision = (report: Machine['report']): bigint =>
  (report?.slices ?? []).reduce((newest, { appliedRevision: one }) => (one > newest ? one : newest), 0n);

/** Slices that are not in effect, since when and why, and fields without effect. Empty if all are in effect. */
export function slicesText({ report, hasOtherAgent }: Machine, nowMs: number): string {
  // All slices have the same reason.
  if (hasOtherAgent) return report?.slices[0]?.reason ?? '';
  return (report?.slices ?? [])
    .flatMap(({ slice, state, since, code, reason, ineffectivePaths: paths }) => {
      const name = nameOf(slice);
      const why = `${reason}${code === '' ? '' : ` (${code})`}`;
      return [
        state === SliceState.LAGGING &&
          `${name} not in effect${since ? ` for ${formatDuration(nowMs / 1000 - Number(since.seconds))}` : ''}: ${why}`,
        state === SliceState.NOT_REPORTED && `${name}: ${why}`,
        paths.length > 0 &&
          `${name}: no effect here: ${paths.join(', ')}${state === SliceState.NO_EFFECT ? ` (${why})` : ''}`,
      ];
    })
    .filter((line) => line !== false)
    .map(printable)
    .join('\n');
}
