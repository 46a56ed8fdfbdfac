// How long the report of a machine holds.
import { ConfigState, type Machine, OnlineState } from '../gen/platform/fleet/v1/fleet_pb.ts';

/** Agents repeat their report each hour; a report that is older was lost or refused since. */
export const reportValidMs = 75 * 60_000;

/** What the machine reported says nothing of now: it is offline, or its report is too old. */
export const isReportPast = ({ report, onlineState, configStatus }: Machine): boolean =>
  report !== undefined && (onlineState !== OnlineState.ONLINE || configStatus?.state === ConfigState.UNKNOWN);
