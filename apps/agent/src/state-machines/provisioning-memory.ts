// What network provisioning remembers and concludes in every state alike. Pure.
import {
  abovePriority,
  candidates,
  higherOnes,
  isOnline,
  withSightings,
  type Choice,
  type Observation,
} from './network-rules.ts';
import type { Event, Memory } from './provisioning-state.ts';
import { spacingMs } from './reboot-spacing.ts';

/** Takes up the facts of the event, in every state alike. */
export function remember(m: Memory, e: Event | { is: 'due' }, now: number): Memory {
  const forcedUntil = m.forcedUntil !== null && now >= m.forcedUntil ? null : m.forcedUntil;
  const old = forcedUntil === m.forcedUntil ? m : { ...m, forcedUntil };
  const { limits } = m.settings;
  switch (e.is) {
    case 'observed': {
      const sightings = withSightings(old.sightings, e.seen, limits.unseen);
      const [linkSince, awaited] = [linkSinceOf(old, e.seen, now), awaitedOf(old, e.seen, now)];
      const tried = triedOf(old.tried, e.seen);
      return withClocks({ ...old, seen: e.seen, sightings, linkSince, awaited, tried }, now);
    }
    case 'settings':
      return withClocks({ ...old, settings: e.settings, ...hotspotChange(old, e.settings, now) }, now);
    case 'clients':
      return { ...old, hasClient: e.hasClient };
    case 'credentials':
      return { ...old, credentials: e.credentials, isCodeRefused: false };
    case 'codeRefused':
      return { ...old, isCodeRefused: !isConfigured(old) };
    case 'codeReplaced':
      return { ...old, isCodeRefused: false };
    case 'changing':
      return { ...old, isChanging: e.isChanging };
    case 'codePending':
      return withClocks({ ...old, isCodePending: e.isPending }, now);
    case 'active':
      return {
        ...old,
        userAt: now,
        forcedUntil: forcedUntil === null ? null : Math.max(forcedUntil, now + limits.retryConnection),
      };
    case 'submitted':
      return {
        ...old,
        userAt: now,
        forcedUntil: null,
        pending: { profile: e.profile ?? old.pending?.profile ?? null },
      };
    case 'forced':
      return { ...old, forcedUntil: now + limits.retryConnection };
    default:
      return old;
  }
}

/** Until the stations were counted, a phone may be connected. */
const hotspotChange = (m: Memory, { hotspot }: Memory['settings'], now: number): Partial<Memory> =>
  hotspot === m.settings.hotspot ? {} : { hotspotChangedAt: now, hasClient: true };

/**
 * No user is at the hotspot who would lose it by a restart. A phone that stays connected, unused, keeps it for
 * `retry_connection_timeout_minutes`.
 */
export const losesNoUser = (m: Memory, now: number): boolean =>
  !isUserActive(m, now) && (!m.hasClient || now - m.hotspotChangedAt >= m.settings.limits.retryConnection);

const triedOf = (tried: Memory['tried'], seen: { known: readonly { profile: string }[] }): Memory['tried'] =>
  Object.fromEntries(Object.entries(tried).filter(([profile]) => seen.known.some((n) => n.profile === profile)));

function linkSinceOf(m: Memory, seen: Observation, now: number): number | null {
  if (!seen.wifi) return null;
  return m.seen?.wifi?.profile === seen.wifi.profile ? (m.linkSince ?? now) : now;
}

function awaitedOf({ awaited }: Memory, { connecting }: Observation, now: number): Memory['awaited'] {
  return connecting === undefined || connecting in awaited ? awaited : { ...awaited, [connecting]: now };
}

/** A set-up code that waits is redeemed over the link that there is: it is not left meanwhile. */
const isAwaited = (m: Memory): boolean =>
  m.isCodePending && !isConfigured(m) && m.seen !== null && m.seen.wifi !== null;

/** Without credentials and without an answer of any kind there is nothing that speaks against the link. */
const isUncheckable = (m: Memory): boolean =>
  !isConfigured(m) && m.seen !== null && m.seen.wifi !== null && m.seen.connectivity === 'unknown';

export function withClocks(m: Memory, now: number): Memory {
  const online = m.seen !== null && (isOnline(m.seen, m.settings.mode, m.chosen) || isAwaited(m) || isUncheckable(m));
  if (online === (m.onlineSince !== null)) return m;
  return online
    ? { ...m, onlineSince: now, offlineSince: null, awaited: {} }
    : { ...m, onlineSince: null, offlineSince: now };
}

export const isUserActive = (m: Memory, now: number): boolean => now - m.userAt < m.settings.limits.userIdle;
export const isConfigured = (m: Memory): boolean => m.credentials !== 'none';

export const rebootAt = (m: Memory): number =>
  m.offlineSince === null || !m.record.hasBeenOnline || !isConfigured(m)
    ? Infinity
    : m.offlineSince + spacingMs(m.record, m.settings.limits.rebootAfterOffline);

export const isRebootDue = (m: Memory, now: number): boolean => now >= rebootAt(m) && !isUserActive(m, now);

export const canOpen = (m: Memory, now: number): boolean => m.seen !== null && m.seen.hasRadio && now >= m.hotspotFrom;

export const choiceOf = (m: Memory): Choice => ({
  known: m.seen?.known ?? [],
  sightings: m.sightings,
  tried: m.tried,
  mode: m.settings.mode,
  chosen: m.chosen,
  connected: m.seen?.wifi?.profile ?? null,
  retryMs: m.settings.limits.retryConnection,
  unseenMs: m.settings.limits.unseen,
});

export const toTry = (m: Memory, during: 'normal' | 'provisioning', now: number): readonly string[] =>
  m.seen?.hasRadio === true ? candidates(choiceOf(m), during, now) : [];

/** Until when nothing else is tried in normal mode, because the WiFi link there is may still lead to the internet. */
export function heldUntil(m: Memory): number {
  if (!m.seen?.wifi || m.linkSince === null) return -Infinity;
  const { doubt, unchecked } = m.settings.limits;
  const since = Math.max(m.linkSince, m.offlineSince ?? -Infinity);
  return since + (m.seen.connectivity === 'unknown' ? unchecked : doubt);
}

/** Until when the attempt of the operating system itself is waited for: its first one since the connection was lost. */
export function connectingUntil({ seen, awaited, settings: { limits } }: Memory): number {
  const since = seen?.connecting === undefined ? undefined : awaited[seen.connecting];
  return since === undefined ? -Infinity : since + limits.joinAnswer;
}

/** When a network of higher priority may be tried again; a row of failures doubles the time between two attempts. */
export function climbFrom({ climb, settings: { limits } }: Memory): number {
  if (climb.failures === 0) return -Infinity;
  return climb.at + Math.min(limits.retryConnection * 2 ** (climb.failures - 1), limits.longestClimb);
}

/** The machine could use a network of higher priority, were it in reach. */
export const isBelow = (m: Memory): boolean =>
  m.onlineSince !== null && m.seen?.hasRadio === true && abovePriority(choiceOf(m)).size > 0;

/** It may try one now. */
export const wantsToClimb = (m: Memory, now: number): boolean =>
  isBelow(m) && isConfigured(m) && !m.isChanging && !isUserActive(m, now) && now >= climbFrom(m);

/** Networks of higher priority to try now, while online. */
export const toClimb = (m: Memory, now: number): readonly string[] =>
  wantsToClimb(m, now) ? higherOnes(choiceOf(m), now) : [];

/** Without credentials, a WiFi link that works is given up for the hotspot only after a while, and by turns. */
export function freeFrom(m: Memory): number {
  if (m.onlineSince === null || m.seen === null) return Infinity;
  return m.seen.wifi === null ? m.onlineSince : m.onlineSince + m.settings.limits.retryConnection;
}
