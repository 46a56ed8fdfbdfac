// State, events, effects and limits of network provisioning. Durations in ms, instants in ms of the monotonic clock.
import type { AgentLimits } from '@platform/contract/config/agent-config';
import type { AttemptResult } from './join-results.ts';
import type { JoinAnswer, Mode, Observation, Sightings } from './network-rules.ts';
import type { MoveId } from './provisioning-moves.ts';
import type { RebootRecord } from './reboot-spacing.ts';

export interface Limits {
  offlineBeforeHotspot: number;
  retryConnection: number;
  userIdle: number;
  /** Infinity: never. */
  rebootAfterOffline: number;
  /** Given to the port with each join. */
  join: number;
  /** A WiFi link that stopped leading to the internet is left after this time: a second check may find it well. */
  doubt: number;
  /** A WiFi link whose way to the internet is not measured is left after this time. */
  unchecked: number;
  /** Longest time between two attempts to leave a network for one of higher priority; the first is `retryConnection`. */
  longestClimb: number;
  /** A join without an answer has failed: `join`, and the time that a check of the connectivity takes. */
  joinAnswer: number;
  scanAnswer: number;
  hotspotAnswer: number;
  /** From a submission to the end of the hotspot, so that the answer reaches the phone. */
  replyGrace: number;
  /** A reboot that has not happened by then has failed. */
  rebootAnswer: number;
  /** A network that was not seen for this long is tried at once when it returns. */
  unseen: number;
  /** Between attempts to start the hotspot; doubled with each failure. */
  firstBackoff: number;
  maxBackoff: number;
  /** Online for this long: the spacing of reboots starts again. */
  steadyOnline: number;
}

/** `replyGrace` + `joinAnswer` < 60 s: a wrong password leads back to the hotspot within a minute. */
export const standardLimits = {
  join: 50_000,
  doubt: 20_000,
  unchecked: 30_000,
  longestClimb: 3_600_000,
  joinAnswer: 56_000,
  scanAnswer: 20_000,
  hotspotAnswer: 300_000,
  replyGrace: 3_000,
  rebootAnswer: 300_000,
  unseen: 60_000,
  firstBackoff: 30_000,
  maxBackoff: 600_000,
  steadyOnline: 1_800_000,
};

export const limitsFrom = (limits: AgentLimits): Limits => ({
  ...standardLimits,
  offlineBeforeHotspot: limits.offlineBeforeHotspotMs,
  retryConnection: limits.retryConnectionMs,
  userIdle: limits.userIdleMs,
  rebootAfterOffline: limits.rebootAfterOfflineMs,
});

export interface Settings {
  /** False: disable_network_configuration. */
  isManaged: boolean;
  mode: Mode;
  limits: Limits;
  /** Changes with every setting that a running hotspot must be started again for: SSID, password, interface, DNS. */
  hotspot: string;
}

/** `given`: also while a one-time code waits to be redeemed. */
export type Credentials = 'none' | 'given' | 'refused';

export type Event =
  /** The network changed, or a scan ended. */
  | { is: 'observed'; seen: Observation }
  | { is: 'credentials'; credentials: Credentials }
  /** A set-up code was refused, or has waited for its server for too long. */
  | { is: 'codeRefused' }
  /** That code is gone. With a fast link, a new code is refused before its submission is taken up. */
  | { is: 'codeReplaced' }
  | { is: 'settings'; settings: Settings }
  /** A user did something at an endpoint. */
  | { is: 'active' }
  /** What a user entered is stored; null: credentials only. */
  | { is: 'submitted'; profile: string | null }
  /** A user ended provisioning without entering anything. */
  | { is: 'exited' }
  | { is: 'forced' }
  /** A change of the networks is tried under a checkpoint, or is over. */
  | { is: 'changing'; isChanging: boolean }
  /** A set-up code waits to be redeemed, or no longer. */
  | { is: 'codePending'; isPending: boolean }
  /** Answers, with the number of the effect that they answer. */
  | { is: 'joined'; id: number; answer: JoinAnswer }
  /** `settings`: those that the hotspot was started with; absent: the newest. */
  | { is: 'hotspot'; id: number; ok: boolean; problem: string; settings?: string }
  /** Whether a phone is connected to the hotspot; reported while it runs with earlier settings. */
  | { is: 'clients'; hasClient: boolean }
  | { is: 'scanned'; id: number; ok: boolean }
  /** The reboot could not be stored or started. */
  | { is: 'notRebooted' }
  /** The hotspot or its endpoints ended without being stopped. */
  | { is: 'hotspotEnded'; problem: string }
  /** The hotspot runs on a channel that is forbidden now. */
  | { is: 'channelForbidden' };

export type Effect =
  /** Hotspot and endpoints are one: if the endpoints cannot listen, the hotspot goes down and the answer is not ok. */
  | { do: 'startHotspot'; id: number }
  | { do: 'stopHotspot' }
  | { do: 'scan'; id: number }
  /** Answered within `timeoutMs` and a check of the connectivity. `by`: a network that a user entered leads if it works. */
  | { do: 'join'; id: number; profile: string; by: 'user' | 'agent'; timeoutMs: number }
  | { do: 'keepRecord'; record: RebootRecord }
  /** The record is stored durably first; without it no reboot. */
  | { do: 'reboot'; record: RebootRecord };

export type Phase =
  | { at: 'unmanaged' }
  | { at: 'online' }
  | { at: 'offline' }
  | { at: 'opening'; id: number; until: number }
  /** `settings`: of this hotspot. */
  | { at: 'hotspot'; settings: string }
  | { at: 'closing'; until: number }
  | { at: 'searching'; id: number; until: number }
  | {
      at: 'joining';
      id: number;
      until: number;
      profile: string;
      /** `user`: at the hotspot, which comes back with the reason if this fails. */
      of: 'normal' | 'round' | 'user' | 'entered';
      /** Tried if this one fails. */
      rest: readonly string[];
    }
  | { at: 'rebooting'; until: number };

/** What is remembered in every state. */
export interface Memory {
  settings: Settings;
  credentials: Credentials;
  /** Null: nothing is known yet. */
  seen: Observation | null;
  sightings: Sightings;
  tried: Readonly<Record<string, number>>;
  /** Since when the WiFi link is as it is; null: there is none. */
  linkSince: number | null;
  /** When the operating system began to connect a profile by itself, first since the connection was lost. */
  awaited: Readonly<Record<string, number>>;
  /** The last attempt to leave a network for one of higher priority, and how many in a row did not succeed. */
  climb: { at: number; failures: number };
  isChanging: boolean;
  isCodePending: boolean;
  /** The network that a user entered last, unless it failed. */
  chosen: string | null;
  /** Exactly one of the two is null. */
  onlineSince: number | null;
  offlineSince: number | null;
  /** -Infinity: never. */
  userAt: number;
  /** A set-up code was refused or waits for too long, and the hotspot was not opened since. */
  isCodeRefused: boolean;
  /** Provisioning was forced, until then. */
  forcedUntil: number | null;
  /** A submission that is not taken up yet. */
  pending: { profile: string | null } | null;
  /** The last network that a user entered, and what came of it. */
  lastEntered: { profile: string; result: AttemptResult; at: number } | null;
  hotspotFailures: number;
  hotspotProblem: string;
  /** When the settings of the hotspot have changed last. */
  hotspotChangedAt: number;
  /** A phone may be connected to the hotspot. */
  hasClient: boolean;
  /** No start of the hotspot before. */
  hotspotFrom: number;
  record: RebootRecord;
  /** Number of the next effect with an answer. */
  nextId: number;
}

export type State = Phase & {
  since: number;
  /** The move that led here; null: the start. */
  by: MoveId | null;
  /** When this state expects `due`. */
  wakeAt: number;
  memory: Memory;
};

export interface Next {
  state: State;
  effects: readonly Effect[];
}
