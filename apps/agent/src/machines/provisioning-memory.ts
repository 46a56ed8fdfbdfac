// What network provisioning remembers and concludes in every state alike. Pure.
import { candidates, isOnline, withSightings, type Choice } from './network-rules.ts';
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
      return withClocks({ ...old, seen: e.seen, sightings, tried: triedOf(old.tried, e.seen) }, now);
    }
    case 'settings':
      return withClocks({ ...old, settings: e.settings }, now);
    case 'credentials':
      return { ...old, credentials: e.credentials, isCodeRefused: false };
    case 'codeRefused':
      return { ...old, isCodeRefused: !isConfigured(old) };
    case 'codeReplaced':
      return { ...old, isCodeRefused: false };
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

const triedOf = (tried: Memory['tried'], seen: { known: readonly { profile: string }[] }): Memory['tried'] =>
  Object.fromEntries(Object.entries(tried).filter(([profile]) => seen.known.some((n) => n.profile === profile)));

export function withClocks(m: Memory, now: number): Memory {
  const online = m.seen !== null && isOnline(m.seen, m.settings.mode, m.chosen);
  if (online === (m.onlineSince !== null)) return m;
  return { ...m, onlineSince: online ? now : null, offlineSince: online ? null : now };
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

/** Without credentials, a WiFi link that works is given up for the hotspot only after a while, and by turns. */
export function freeFrom(m: Memory): number {
  if (m.onlineSince === null || m.seen === null) return Infinity;
  return m.seen.wifi === null ? m.onlineSince : m.onlineSince + m.settings.limits.retryConnection;
}
