import { configStatusText } from '@platform/contract/config/status';
import { formatDuration } from '@platform/kit';
import {
  type ConfigSlice,
  ConfigSliceSchema,
  type ConfigSliceStatus,
  ConfigState,
  ConfigStateSchema,
  type ConfigStatus,
  type Machine,
  type SliceStatus,
  SliceState,
  SliceStateSchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ago, enumWord, isoTime, printable } from '../output.ts';

const nameOf = (slice: ConfigSlice): string => enumWord(ConfigSliceSchema, slice);

export const sliceJson = (status: SliceStatus): Record<string, unknown> => ({
  slice: nameOf(status.slice),
  state: enumWord(SliceStateSchema, status.state),
  applied_revision: Number(status.appliedRevision),
  config_sha256: Buffer.from(status.configSha256).toString('hex'),
  since: isoTime(status.since),
  code: status.code,
  reason: status.reason,
  ineffective_paths: status.ineffectivePaths,
});

/** The management server's answer to whether the saved configuration is in effect; null: the server is older. */
export function configStatusJson(status: ConfigStatus | undefined): Record<string, unknown> | null {
  if (!status) return null;
  return {
    state: enumWord(ConfigStateSchema, status.state),
    is_current: status.isCurrent,
    saved_revision: Number(status.savedRevision),
    saved_sha256: Buffer.from(status.savedSha256).toString('hex'),
    saved_on: isoTime(status.savedOn),
    acting_revision: Number(status.actingRevision),
    is_received: status.isReceived,
    since: isoTime(status.since),
    measured_on: isoTime(status.measuredOn),
    reason: status.reason,
    was_in_effect: status.wasInEffect,
    problem: status.problem
      ? { code: status.problem.code, path: status.problem.path, message: status.problem.message }
      : null,
    problem_count: status.problemCount,
  };
}

/** State of the machine's configuration; "in effect" without qualification only if all saved fields are. */
export function configText({ configStatus, lastSeen }: Machine, nowMs: number): string {
  const text = configStatusText(configStatus);
  if (!configStatus) return text;
  const { state, since } = configStatus;
  const isInEffect = state === ConfigState.IN_EFFECT || state === ConfigState.PARTLY_IN_EFFECT;
  if (isInEffect && since) return printable(`${text}, since ${ago(since, nowMs)}`);
  const isLost = state === ConfigState.UNKNOWN && lastSeen !== undefined;
  return printable(isLost ? `${text}, last seen ${ago(lastSeen, nowMs)}` : text);
}

/** Slices that are not in effect, since when and why, and fields without effect. Empty if all are in effect. */
export function slicesText({ configStatus }: Machine, nowMs: number): string {
  const slices = configStatus?.slices ?? [];
  const past = configStatus && !configStatus.isCurrent && slices.length > 0 ? ['at the last report:'] : [];
  return [...past, ...slices.flatMap((slice) => sliceLines(slice, nowMs))].map(printable).join('\n');
}

function sliceLines(status: ConfigSliceStatus, nowMs: number): string[] {
  const { slice, state, since, code, reason, ineffectivePaths: paths } = status;
  const name = nameOf(slice);
  const why = `${reason}${code === '' ? '' : ` (${code})`}`;
  return [
    state === SliceState.LAGGING &&
      `${name} not in effect${since ? ` for ${formatDuration(nowMs / 1000 - Number(since.seconds))}` : ''}: ${why}`,
    state === SliceState.NOT_REPORTED && `${name}: ${why}`,
    paths.length > 0 &&
      `${name}: no effect here: ${paths.join(', ')}${state === SliceState.NO_EFFECT ? ` (${why})` : ''}`,
  ].filter((line) => line !== false);
}
