import type { Cell } from '@platform/kit';
import type { Connectivity, JoinFailure } from '../state-machines/join-results.ts';
import type { RestoredFile } from './managed-files.ts';

export type { Connectivity, JoinFailure };

/** `wpa-eap`: WPA2 or WPA3 enterprise. `wep` and `unknown` cannot be joined by this agent. */
export type WifiSecurity = 'open' | 'owe' | 'wpa-psk' | 'sae' | 'wpa-eap' | 'wep' | 'unknown';

/** A network that the radio sees: one entry for each SSID and interface, that of the strongest access point. */
export interface VisibleNetwork {
  ssid: string;
  interface: string;
  /** Strongest first where an access point offers several, for example WPA2 and WPA3. */
  security: WifiSecurity;
  /** 0 to 100. */
  signalPercent: number;
  frequencyMhz: number;
  /** When it was last seen, ms of the monotonic clock. */
  seen: number;
}

export interface LinkDevice {
  interface: string;
  type: 'wifi' | 'wired' | 'bluetooth' | 'other';
  /** `unavailable`: no cable, or the radio is switched off. `unmanaged`: the operating system keeps away from it. */
  state: 'unmanaged' | 'unavailable' | 'disconnected' | 'connecting' | 'connected' | 'failed';
  /** UUID of the active profile; empty: none. */
  profile: string;
  /** SSID of the connected WiFi network or of the hotspot; empty: none. */
  ssid: string;
  isHotspot: boolean;
  /** In CIDR form. */
  addresses: readonly string[];
  gateway: string;
  /** 0 to 100; 0: not WiFi, or not connected. */
  signalPercent: number;
  hasDefaultRoute: boolean;
}

/** Why this agent made a profile; stored with the profile. */
export type ProfileMark =
  | { kind: 'provisioned' }
  | { kind: 'hotspot' }
  /** Of `additional_networks`: its name, and a checksum of what was applied. */
  | { kind: 'additional'; name: string; digest: string };

/** A saved profile of the operating system, made by this agent or by anybody else. */
export interface SavedProfile {
  uuid: string;
  name: string;
  type: 'wifi' | 'wired' | 'bluetooth' | 'other';
  ssid: string;
  /** Empty: any. */
  interface: string;
  priority: number;
  isAutoconnect: boolean;
  /** The WiFi network does not announce itself. */
  isHidden: boolean;
  isHotspot: boolean;
  /** Undefined: a user or another program made it; this agent never changes or removes it. */
  mark: ProfileMark | undefined;
}

export interface Eap {
  method: 'peap' | 'ttls' | 'tls';
  /** How the password is sent in the tunnel of peap and ttls. */
  innerMethod: 'mschapv2' | 'gtc' | 'pap' | 'chap' | 'mschap';
  identity: string;
  anonymousIdentity: string;
  password: string;
  /** PEM; empty: the authorities of the operating system. */
  authority: string;
  /** Name that the certificate of the authentication server must have; empty: any. */
  serverName: string;
  clientCertificate: string;
  clientKey: string;
  clientKeyPassword: string;
}

/** A profile that this agent writes. */
export interface NewProfile {
  name: string;
  type: 'wifi' | 'wired';
  /** Empty: any. */
  interface: string;
  priority: number;
  /** The operating system activates it by itself; false: only `join` does. */
  isAutoconnect: boolean;
  mark: ProfileMark;
  wifi?: {
    ssid: string;
    isHidden: boolean;
    /** `psk`: WPA2 and WPA3 personal, whichever the access point offers. */
    security: { is: 'open' } | { is: 'psk'; psk: string } | { is: 'eap'; eap: Eap };
  };
  /** Absent: DHCP. */
  ipv4?: { address: string; gateway: string };
  dns: readonly string[];
  /** Already resolved: 100 for wired, 600 for WiFi where the configuration says 0. */
  routeMetric: number;
}

/** `detail`: the reason in the words of the operating system, for the log. */
export type JoinResult = { ok: true } | { ok: false; reason: JoinFailure; detail: string };

export interface Hotspot {
  interface: string;
  ssid: string;
  password: string;
  /** Every name leads to the device; false: only names that end in .setup. */
  isRedirecting: boolean;
  /** Its clients reach the machine's other networks; false: they reach the machine only. */
  isSharing: boolean;
  /** Preferred band in GHz; empty: 2.4. */
  band: '' | '2.4' | '5';
}

/** `foreign`: another program holds port 53 or 67; `detail` names it. */
export type HotspotResult =
  | { ok: true; address: string }
  | { ok: false; reason: 'no-radio' | 'foreign' | 'failed'; detail: string };

/** One observation of the network of this machine. Immutable. */
export interface NetworkState {
  /** Of NetworkManager; `starting`: not known yet. */
  manager: 'starting' | 'absent' | 'too-old' | 'ready';
  /** Version of NetworkManager; empty: none. */
  version: string;
  connectivity: Connectivity;
  /** When `connectivity` was measured over these links, ms of the monotonic clock; null: never. */
  checkedAt: number | null;
  /** Addresses of the name servers that the connected links gave. */
  nameServers: readonly string[];
  devices: readonly LinkDevice[];
  profiles: readonly SavedProfile[];
  visible: readonly VisibleNetwork[];
}

/**
 * Restores the profiles in use and their connections at its creation, unless it is confirmed in time. Profiles that were
 * added since are removed; other profiles that were changed or removed stay so.
 */
export interface Checkpoint {
  /** Keeps the changes. @returns false: the manager has rolled them back by itself */
  confirm(): Promise<boolean>;
  rollBack(): Promise<void>;
}

/**
 * The network of this machine. An implementation for NetworkManager and a simulation pass the same contract test.
 * Calls reject with an Error that has the code of D-Bus, or time out; none hangs.
 */
export interface Network {
  /** The newest observation; the operating system's signals update it, and `run` has to be running. */
  readonly state: Cell<NetworkState>;
  /** Keeps `state` up to date; connects again after the manager was stopped, installed or started. */
  run(signal: AbortSignal): Promise<void>;
  /** Whether the manager answers a question within the limit: then `state` holds, because it reports each change. */
  isAnswering(limitMs: number): Promise<boolean>;
  /** Asks the radio to scan; resolves when its results are in `state`, or after a time limit. */
  scan(interfaceName: string, signal: AbortSignal): Promise<void>;
  /** Checks now; blocks up to some seconds. */
  checkConnectivity(signal: AbortSignal): Promise<Connectivity>;
  /**
   * The management server has just answered over the present links.
   *
   * @returns false: that changes nothing, because NetworkManager checks the way to the internet itself
   */
  confirmConnectivity(): boolean;
  /**
   * Adds a profile, or replaces the one of this agent with this UUID. It does not activate it.
   *
   * @returns its UUID, once `state` has the profile
   */
  save(profile: NewProfile, uuid?: string): Promise<string>;
  /** Removes a profile of this agent; a missing one is ignored. @throws Error if it has no mark */
  remove(uuid: string): Promise<void>;
  /** Removes the mark: the profile belongs to the operating system from now on. */
  disown(uuid: string): Promise<void>;
  /** Changes the priority of a profile of this agent. */
  setPriority(uuid: string, priority: number): Promise<void>;
  /** Whether the operating system activates a profile of this agent by itself. */
  setAutoconnect(uuid: string, isAutoconnect: boolean): Promise<void>;
  /** Activates a profile; an empty interface: any that fits. Resolves when it is connected or has failed (within 60 s). */
  join(uuid: string, interfaceName: string, signal: AbortSignal): Promise<JoinResult>;
  startHotspot(hotspot: Hotspot, signal: AbortSignal): Promise<HotspotResult>;
  /** Ends the hotspot of this agent only, also one of an earlier run; ignores a missing one. */
  stopHotspot(): Promise<void>;
  /**
   * Watches that clients of the running hotspot reach the machine only, until the signal.
   *
   * @returns why that cannot be kept any more, as a clause; empty: the signal ended it
   */
  keepHotspot(signal: AbortSignal): Promise<string>;
  /** How many clients are connected to the access point of this interface; undefined: not known. */
  hotspotClients(interfaceName: string): Promise<number | undefined>;
  /** The manager itself rolls back after `seconds`, even if this process has died. */
  checkpoint(seconds: number): Promise<Checkpoint>;
  /** Switches power save of WiFi on or off for all its connections; null: as the operating system has it. */
  setPowerSave(isOn: boolean | null): Promise<void>;
  /** Whether the radio saves power now, as the kernel says; undefined: it does not say. */
  isPowerSaving(interfaceName: string): Promise<boolean | undefined>;
  /** Restores the files of the operating system that this port has written, also those of earlier runs. */
  restoreFiles(): Promise<readonly RestoredFile[]>;
  /**
   * Makes the radios obey the rules of a country; empty: those before the first call. Works without a manager.
   *
   * @returns why they do not, as a clause; empty: they do, or there is no radio
   */
  setCountry(country: string): Promise<string>;
  /** Why the running hotspot of this agent may not stay on its channel; empty: it may, or none runs. */
  hotspotProblem(): Promise<string>;
}
