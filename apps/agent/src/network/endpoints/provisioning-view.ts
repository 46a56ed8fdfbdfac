// What the provisioning endpoints (portal, provisioning RPC, Bluetooth) show, and what a user enters there. They run in
// a child process without root; these messages are all that passes between it and the agent.
import type { AttemptResult } from '../../state-machines/join-results.ts';
import type { WriteRefusal } from '../../os/bluetooth-port.ts';
import type { WifiSecurity } from '../../os/network-port.ts';
import type { Cell } from '@platform/kit';

/** Everything that a user who sets up the device may see. Contains no secrets. */
export interface ProvisioningView {
  manufacturer: string;
  model: string;
  fragmentId: string;
  hostname: string;
  agentVersion: string;
  /** The device has credentials, and the management server has not refused them. */
  hasCredentials: boolean;
  /** By the rule of the configured mode. */
  isOnline: boolean;
  /** `trying`: the device joins the network that was entered; the hotspot may be gone meanwhile. */
  at: 'waiting' | 'trying' | 'done';
  /** Strongest first; one for each SSID; without the own hotspot. */
  networks: readonly { ssid: string; security: WifiSecurity; signalPercent: number }[];
  /** SSID that the device is connected to; empty: none. */
  connectedTo: string;
  /** The last attempt with an entered network; null: none since the agent started. */
  lastAttempt: ProvisioningAttempt | null;
  /** While the device is offline: why the network that it knew cannot be used. Absent: no try of its own has failed. */
  knownFailure?: ProvisioningAttempt;
  /**
   * Why the device has no working credentials yet, for users: a set-up code that was refused or waits, or credentials
   * that have never worked. Absent: nothing is known.
   */
  credentialsProblem?: string;
  /** The device has credentials that have never worked: a network alone may be entered, too. */
  hasUnprovenCredentials?: true;
}

export type { AttemptResult };

export interface ProvisioningAttempt {
  ssid: string;
  result: AttemptResult;
  /** For users; empty if ok or trying. */
  text: string;
  /** ms since 1970. */
  wall: number;
}

/** What a user entered. Both parts are optional, one of them is needed. */
export interface Submission {
  wifi?: { ssid: string; psk: string; isHidden: boolean };
  /** Text of a credentials file. */
  credentials?: string;
}

/** The agent's answer; it is given before the hotspot goes away. `text` is for users. */
export type SubmissionAnswer = { ok: true } | { ok: false; code: string; text: string };

/** From the agent to the endpoints, one JSON document a line. */
export type ToEndpoints =
  | { is: 'view'; view: ProvisioningView }
  | { is: 'answer'; id: number; answer: SubmissionAnswer }
  /** To the process for Bluetooth only, before anything else: its clients prove that they know it. */
  | { is: 'hotspotPassword'; password: string }
  /** What a Bluetooth client wrote, in base64. */
  | { is: 'write'; id: number; uuid: string; value: string; client: string };

/**
 * From the endpoints to the agent, one JSON document a line. `active`: a user did something; probes do not count.
 * `exit`: a user ended provisioning without entering anything.
 * `alive`: every 10 seconds; the agent ends a silent process.
 */
export type FromEndpoints =
  | { is: 'ready' }
  | { is: 'alive' }
  | { is: 'active' }
  | { is: 'exit' }
  | { is: 'submit'; id: number; submission: Submission }
  | { is: 'log'; level: 'info' | 'warn'; text: string }
  /** What Bluetooth clients read from now on, in base64 by UUID; others stay. */
  | { is: 'values'; values: Readonly<Record<string, string>> }
  | { is: 'written'; id: number; answer: WriteRefusal | 'ok' };

/** What the provisioning endpoints call in the agent. */
export interface EndpointHandlers {
  /** A user did something: POST requests and RPC calls count, probes and GET requests do not. */
  active(): void;
  /** A user ended provisioning without entering anything. */
  exit(): void;
  submit(submission: Submission): Promise<SubmissionAnswer>;
}

/** Where users enter what the device needs: captive portal, provisioning RPC, Bluetooth. */
export interface ProvisioningEndpoints {
  /**
   * Serves on the address of the hotspot until `signal` aborts. A child process that dies is started again.
   * `opened` is called when the ports accept connections.
   *
   * @throws Error if a port belongs to another program, which the error names
   */
  serve(
    of: { address: string; view: Cell<ProvisioningView>; handlers: EndpointHandlers; opened: () => void },
    signal: AbortSignal,
  ): Promise<void>;
}
