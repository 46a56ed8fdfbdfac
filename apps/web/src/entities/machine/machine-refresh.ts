import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ConfigState, OrderState, ServerState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { msOf } from '../../ui/times.ts';

const underWayMs = 1_000;
const atRestMs = 2_000;
/** What takes longer is watched no more closely: a machine may stay like that for days. */
const closelyMs = 60_000;

const passing: readonly ServerState[] = [ServerState.STARTING, ServerState.STOPPING];
const open: readonly OrderState[] = [OrderState.WAITING, OrderState.BEGUN];

/**
 * How often the page of a machine asks for it: more often while something is under way that a user waits for.
 * @param now - ms since 1970; if the clock of the browser is wrong, the page is slower or faster, and nothing else.
 */
export function machineRefreshMs(machine: Machine | undefined, now: number): number {
  if (machine === undefined) return underWayMs;
  const { report, reportedOn, configStatus, orders, restartRequestedOn } = machine;
  const beginnings = [
    ...(report !== undefined && passing.includes(report.serverState) ? [reportedOn] : []),
    ...(configStatus?.state === ConfigState.APPLYING ? [configStatus.savedOn] : []),
    ...(restartRequestedOn ? [restartRequestedOn] : []),
    ...orders.filter(({ state }) => open.includes(state)).map(({ since }) => since),
  ].map(msOf);
  return beginnings.some((since) => since === undefined || now - since < closelyMs) ? underWayMs : atRestMs;
}
