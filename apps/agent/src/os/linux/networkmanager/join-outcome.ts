// From the events of an activation to its outcome, in the words of the port.
import type { JoinFailure, JoinResult } from '../../network-port.ts';
import { deviceState } from './objects.ts';

/** What NetworkManager and wpa_supplicant report while a profile is activated. */
export type JoinEvent =
  | { is: 'device'; path: string; state: number; reason: number }
  | { is: 'active'; path: string; state: number; reason: number }
  | { is: 'removed'; path: string }
  /** Absent: not in this report. */
  | { is: 'supplicant'; state?: string; disconnectReason?: number; authStatus?: number }
  | { is: 'eap'; status: string; parameter: string };

export interface JoinContext {
  /** Path of the active connection. */
  active: string;
  /** Undefined: not known which one NetworkManager chose. */
  device: string | undefined;
  /** `eap`: with a password. */
  security: 'open' | 'psk' | 'eap' | 'eap-tls';
}

const activeState = { activated: 2, deactivated: 4 } as const;
/** Values of NMActiveConnectionStateReason. */
const activeReason = { connectTimeout: 6, noSecrets: 9, loginFailed: 10, deviceRemoved: 14 } as const;

/** The values of NMDeviceStateReason that can end an activation. */
const reasonNames: Readonly<Record<number, string>> = {
  0: 'no reason given',
  1: 'unknown',
  3: 'now unmanaged',
  4: 'configuration failed',
  5: 'IP configuration unavailable',
  6: 'IP configuration expired',
  7: 'no secrets',
  8: 'supplicant disconnected',
  9: 'supplicant configuration failed',
  10: 'supplicant failed',
  11: 'supplicant timeout',
  15: 'DHCP start failed',
  16: 'DHCP error',
  17: 'DHCP failed',
  18: 'sharing start failed',
  19: 'sharing failed',
  35: 'firmware missing',
  36: 'device removed',
  37: 'sleeping',
  38: 'connection removed',
  39: 'user requested',
  40: 'carrier changed',
  50: 'dependency failed',
  53: 'SSID not found',
  60: 'new activation',
  64: 'duplicate IP address',
  65: 'IP method unsupported',
};

const reasonText = (reason: number): string => `${reasonNames[reason] ?? 'reason'} (${reason})`;

const failed = (reason: JoinFailure, detail: string): JoinResult => ({ ok: false, reason, detail });

/** Undefined: it goes on. */
export function joinOutcome(events: readonly JoinEvent[], context: JoinContext): JoinResult | undefined {
  const isOurs = (path: string): boolean => context.device === undefined || context.device === path;
  for (const event of events) {
    if (event.is === 'removed' && event.path === context.device) return failed('device-gone', 'the device was removed');
    if (event.is === 'device' && isOurs(event.path) && event.state === deviceState.failed)
      return failed(failureOf(event.reason, events, context), detailOf(reasonText(event.reason), events));
    if (event.is !== 'active' || event.path !== context.active) continue;
    if (event.state === activeState.activated) return { ok: true };
    if (event.state === activeState.deactivated) return deactivated(event.reason, events, context);
  }
  return undefined;
}

function deactivated(reason: number, events: readonly JoinEvent[], context: JoinContext): JoinResult {
  const detail = detailOf(`the connection was deactivated (${reason})`, events);
  if (reason === activeReason.deviceRemoved) return failed('device-gone', detail);
  if (reason === activeReason.noSecrets || reason === activeReason.loginFailed)
    return failed(failureOf(noSecrets, events, context), detail);
  if (reason === activeReason.connectTimeout) return failed('timed-out', detail);
  return failed('failed', detail);
}

const noSecrets = 7;
const supplicantReasons = [8, 10, 11];
const addressReasons = [5, 6, 15, 16, 17];

function failureOf(reason: number, events: readonly JoinEvent[], context: JoinContext): JoinFailure {
  if (addressReasons.includes(reason)) return 'no-address';
  if (reason === 64) return 'address-in-use';
  if (reason === 36 || reason === 3) return 'device-gone';
  if (context.security === 'eap' || context.security === 'eap-tls') return eapFailure(reason, events, context);
  if (context.security === 'psk' && (reason === noSecrets || isRefusedPassword(events))) return 'wrong-password';
  if (reason === 53) return 'not-found';
  // The access point ended the association: with a password, the reason is nearly always the password.
  if (context.security === 'psk' && reason === 8) return 'wrong-password';
  return reason === 11 ? 'timed-out' : 'failed';
}

/** 802.11 reason codes: previous authentication no longer valid, 4-way handshake timeout, 802.1X failed. */
const refusedByReason = [2, 15, 23];
/** 802.11 status code: the challenge of WPA3 failed. */
const challengeFailed = 15;

/** The handshake began and never ended, or the access point says so. */
function isRefusedPassword(events: readonly JoinEvent[]): boolean {
  const reports = events.filter((event) => event.is === 'supplicant');
  const hasCompleted = reports.some(({ state }) => state === 'completed');
  const isRefused = reports.some(
    ({ disconnectReason, authStatus }) =>
      refusedByReason.includes(Math.abs(disconnectReason ?? 0)) || authStatus === challengeFailed,
  );
  return isRefused || (!hasCompleted && reports.some(({ state }) => state === '4way_handshake'));
}

const supplicantConfigFailed = 9;

function eapFailure(reason: number, events: readonly JoinEvent[], { security }: JoinContext): JoinFailure {
  const reports = events.filter((event) => event.is === 'eap');
  const has = (status: string, parameter: RegExp): boolean =>
    reports.some((report) => report.status === status && parameter.test(report.parameter));
  if (has('remote certificate verification', /^(?!success)/) || has('local TLS alert', /./))
    return 'authentication-server-not-trusted';
  if (has('remote TLS alert', /certificate|unknown ca|access denied|decrypt|handshake failure/i))
    return 'client-certificate-refused';
  if (reason === supplicantConfigFailed) return 'client-certificate-refused';
  // The server accepts or refuses the proof of the machine: its password, or its certificate.
  const refused = security === 'eap-tls' ? 'client-certificate-refused' : 'refused-by-authentication-server';
  if (reports.length > 0 || reason === noSecrets) return refused;
  if (reason === 53) return 'not-found';
  return supplicantReasons.includes(reason) ? refused : 'failed';
}

function detailOf(text: string, events: readonly JoinEvent[]): string {
  const reports = events.filter((event) => event.is === 'eap');
  // The end of the conversation says less than what led to it.
  const eap =
    reports.find(({ status, parameter }) => /verification|alert/.test(status) && parameter !== 'success') ??
    reports.at(-1);
  const supplicant = events.findLast((event) => event.is === 'supplicant' && event.disconnectReason !== undefined);
  const more = [
    ...(eap ? [`EAP: ${eap.status} ${eap.parameter}`.trim()] : []),
    ...(supplicant?.is === 'supplicant' ? [`802.11 reason ${supplicant.disconnectReason}`] : []),
  ];
  return [text, ...more].join('; ');
}

/** The result of an activation that did not end in time. */
export function outcomeAtLimit(events: readonly JoinEvent[], context: JoinContext): JoinResult {
  const isOurs = (path: string): boolean => context.device === undefined || context.device === path;
  // A device that is being deactivated says no longer how far it came.
  const last = events.findLast(
    (event) => event.is === 'device' && isOurs(event.path) && event.state !== deviceState.deactivating,
  );
  const state = last?.is === 'device' ? last.state : 0;
  const detail = detailOf(`no result in time, the device was in state ${state}`, events);
  if (state === deviceState.ipConfig) return failed('no-address', detail);
  if (state === deviceState.needAuth) return failed(failureOf(noSecrets, events, context), detail);
  if (context.security === 'psk' && isRefusedPassword(events)) return failed('wrong-password', detail);
  return failed('timed-out', detail);
}

/** Why NetworkManager did not start an activation, by its error. */
export function refusedActivation(code: string, text: string): JoinResult {
  const detail = `${code}: ${text}`;
  if (code.endsWith('.UnknownDevice')) return failed('device-gone', detail);
  return failed(/(network|access point).*(not|n't) .*found/i.test(text) ? 'not-found' : 'failed', detail);
}
