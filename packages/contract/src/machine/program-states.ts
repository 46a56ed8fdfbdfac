// States of a machine's programs and of its configuration: the agent's name (on disk and in `status --json`), the number
// on the wire, and the text for users.
import type { AgentStatus, ProgramReport, SliceReport } from './agent-status.ts';
import { BootReason, ServerState, SliceState, UpdateState } from '../gen/platform/fleet/v1/fleet_pb.ts';

export type ServerStateName = AgentStatus['server']['at'];
export type UpdateStateName = NonNullable<ProgramReport['last_update']>['state'];
export type SliceStateName = SliceReport['state'];

interface StateRow<Wire> {
  readonly wire: Wire;
  /** In the middle of a sentence. */
  readonly text: string;
}

/** States of the machine server. */
export const serverStates: Readonly<Record<ServerStateName, StateRow<ServerState>>> = {
  stopped: { wire: ServerState.STOPPED, text: 'stopped' },
  starting: { wire: ServerState.STARTING, text: 'starting' },
  running: { wire: ServerState.RUNNING, text: 'running' },
  stopping: { wire: ServerState.STOPPING, text: 'stopping' },
  waiting: { wire: ServerState.WAITING, text: 'ended, starts again soon' },
  disabled: { wire: ServerState.DISABLED, text: 'disabled by the configuration' },
};

/** States of the newest update of a program. */
export const updateStates: Readonly<Record<UpdateStateName, StateRow<UpdateState>>> = {
  downloading: { wire: UpdateState.DOWNLOADING, text: 'downloading' },
  staged: { wire: UpdateState.STAGED, text: 'ready, used at the next restart' },
  trying: { wire: UpdateState.TRYING, text: 'on trial' },
  healthy: { wire: UpdateState.HEALTHY, text: 'healthy' },
  reverted: { wire: UpdateState.REVERTED, text: 'rolled back' },
  failed: { wire: UpdateState.FAILED, text: 'failed' },
  superseded: { wire: UpdateState.SUPERSEDED, text: 'superseded by another version' },
};

/** Whether a slice of the configuration is in effect. */
export const sliceStates: Readonly<Record<SliceStateName, StateRow<SliceState>>> = {
  'in effect': { wire: SliceState.IN_EFFECT, text: 'in effect' },
  lagging: { wire: SliceState.LAGGING, text: 'not in effect' },
  'no effect': { wire: SliceState.NO_EFFECT, text: 'no effect here' },
  'not reported': { wire: SliceState.NOT_REPORTED, text: 'not reported' },
};

/** Why a machine was started the last time. */
export const bootReasons = {
  ordered: { wire: BootReason.ORDERED, text: 'ordered restart' },
  'power-lost': { wire: BootReason.POWER_LOST, text: 'power lost or reset' },
  watchdog: { wire: BootReason.WATCHDOG, text: 'reset by the watchdog' },
  'kernel-panic': { wire: BootReason.KERNEL_PANIC, text: 'kernel panic' },
} as const satisfies Record<string, StateRow<BootReason>>;

/** The text of a state on the wire; undefined: not reported, or of a newer version. */
export const textOfState = <Wire>(
  states: Readonly<Record<string, StateRow<Wire>>>,
  wire: Wire | undefined,
): string | undefined => Object.values(states).find((row) => row.wire === wire)?.text;
