// Network provisioning: when the hotspot runs, which network is joined when, and when the machine is rebooted for being
// offline. Pure; docs/provisioning.md explains it, provisioning-moves.ts lists every transition.
import { assertNever } from '@platform/kit';
import type { AttemptResult } from './join-results.ts';
import { attemptResult, isPrimary, type JoinAnswer, roundOf, roundOfNew } from './network-rules.ts';
import {
  canOpen,
  choiceOf,
  climbFrom,
  connectingUntil,
  freeFrom,
  heldUntil,
  isBelow,
  isConfigured,
  isRebootDue,
  isUserActive,
  losesNoUser,
  rebootAt,
  remember,
  toClimb,
  toTry,
  withClocks,
} from './provisioning-memory.ts';
import { moves, type MoveId } from './provisioning-moves.ts';
import type { Credentials, Effect, Event, Memory, Next, Phase, Settings, State } from './provisioning-state.ts';
import { withReboot, type RebootRecord } from './reboot-spacing.ts';

type Due = { is: 'due' };
type PhaseAt<I extends MoveId> = Extract<Phase, { at: (typeof moves)[I]['to'] }>;

/** The offline clock starts at the start of the process. */
export const initial = (settings: Settings, credentials: Credentials, record: RebootRecord, now: number): State => {
  const memory: Memory = {
    settings,
    credentials,
    seen: null,
    sightings: {},
    tried: {},
    linkSince: null,
    awaited: {},
    climb: { at: -Infinity, failures: 0 },
    isChanging: false,
    isCodePending: false,
    chosen: null,
    onlineSince: null,
    offlineSince: now,
    userAt: -Infinity,
    isCodeRefused: false,
    forcedUntil: null,
    pending: null,
    lastEntered: null,
    hotspotFailures: 0,
    hotspotProblem: '',
    hotspotChangedAt: -Infinity,
    hasClient: false,
    hotspotFrom: -Infinity,
    record,
    nextId: 1,
  };
  const phase: Phase = settings.isManaged ? { at: 'offline' } : { at: 'unmanaged' };
  return { ...phase, since: now, by: null, wakeAt: now, memory };
};

export const deadline = (s: State): number => s.wakeAt;

export function step(s: State, e: Event | Due, now: number): Next {
  const next = decide({ ...s, memory: remember(s.memory, e, now) }, e, now);
  return withWake(withRecord(next, now), now);
}

function decide(s: State, e: Event | Due, now: number): Next {
  if (!s.memory.settings.isManaged && s.at !== 'unmanaged' && s.at !== 'joining') return disable(s, now);
  switch (s.at) {
    case 'unmanaged':
      return s.memory.settings.isManaged
        ? go(s, 'enabled', { at: 'offline' }, now)
        : stay(withMemory(s, { pending: null, forcedUntil: null }));
    case 'online':
      return inOnline(s, now);
    case 'offline':
      return inOffline(s, now);
    case 'opening':
      return inOpening(s, e, now);
    case 'hotspot':
      return inHotspot(s, e, now);
    case 'closing':
      return e.is === 'hotspotEnded' || now >= s.until ? close(s, now) : stay(s);
    case 'searching':
      return inSearching(s, e, now);
    case 'joining':
      return inJoining(s, e, now);
    case 'rebooting':
      return e.is === 'notRebooted' || now >= s.until ? go(s, 'notRebooted', { at: 'offline' }, now) : stay(s);
    default:
      return assertNever(s);
  }
}

const stay = (s: State): Next => ({ state: s, effects: [] });

/** Makes the move `by`; the types allow only the state that the table names. */
const go = <I extends MoveId>(s: State, by: I, phase: PhaseAt<I>, now: number, ...effects: Effect[]): Next => ({
  state: { ...(phase as Phase), since: now, by, wakeAt: Infinity, memory: s.memory },
  effects,
});

const withMemory = (s: State, more: Partial<Memory>): State => ({ ...s, memory: { ...s.memory, ...more } });

/** The order of an administrator interrupts a user as well; only a join under way ends first. */
function disable(s: State, now: number): Next {
  const isOpen = s.at === 'opening' || s.at === 'hotspot' || s.at === 'closing';
  const next = withMemory(s, { pending: null, forcedUntil: null });
  return go(next, 'disabled', { at: 'unmanaged' }, now, ...(isOpen ? [stopHotspot] : []));
}

const stopHotspot: Effect = { do: 'stopHotspot' };

type OpenMove = { [I in MoveId]: (typeof moves)[I]['to'] extends 'opening' ? I : never }[MoveId];

function open(s: State, by: OpenMove, now: number, ...before: Effect[]): Next {
  const id = s.memory.nextId;
  const until = now + s.memory.settings.limits.hotspotAnswer;
  // The time of a forced hotspot begins when it is on the air.
  const forcedUntil = s.memory.forcedUntil === null ? null : Infinity;
  const next = withMemory(s, { nextId: id + 1, isCodeRefused: false, forcedUntil });
  return go(next, by, { at: 'opening', id, until }, now, ...before, {
    do: 'startHotspot',
    id,
  });
}

type SearchMove = { [I in MoveId]: (typeof moves)[I]['to'] extends 'searching' ? I : never }[MoveId];

function search(s: State, by: SearchMove, now: number, ...before: Effect[]): Next {
  const id = s.memory.nextId;
  const until = now + s.memory.settings.limits.scanAnswer;
  return go(withMemory(s, { nextId: id + 1 }), by, { at: 'searching', id, until }, now, ...before, { do: 'scan', id });
}

type JoinMove = { [I in MoveId]: (typeof moves)[I]['to'] extends 'joining' ? I : never }[MoveId];
type Joining = Extract<Phase, { at: 'joining' }>;

function join(
  s: State,
  by: JoinMove,
  { of, profiles }: { of: Joining['of']; profiles: readonly [string, ...string[]] },
  now: number,
  ...before: Effect[]
): Next {
  const { nextId: id, settings } = s.memory;
  const [profile, ...rest] = profiles;
  const tried = { ...s.memory.tried, [profile]: now };
  const isEntered = of === 'user' || of === 'entered';
  const phase: Joining = { at: 'joining', id, until: now + settings.limits.joinAnswer, profile, of, rest };
  return go(withMemory(s, { nextId: id + 1, tried }), by, phase, now, ...before, {
    do: 'join',
    id,
    profile,
    by: isEntered ? 'user' : 'agent',
    timeoutMs: settings.limits.join,
  });
}

/** Joins what a user entered. `of`: `user`, if the hotspot was open for them. */
function joinEntered(s: State, profile: string, of: 'user' | 'entered', now: number, ...before: Effect[]): Next {
  const next = withMemory(s, { pending: null, lastEntered: { profile, result: 'trying', at: now } });
  return join(next, 'joinsEntered', { of, profiles: [profile] }, now, ...before);
}

const hasFirst = (profiles: readonly string[]): profiles is readonly [string, ...string[]] => profiles.length > 0;

function inOnline(s: State, now: number): Next {
  const m = s.memory;
  if (m.pending?.profile) return joinEntered(s, m.pending.profile, 'entered', now);
  const next = withMemory(s, { pending: null });
  if (m.onlineSince === null) return go(next, 'wentOffline', { at: 'offline' }, now);
  if (canOpen(m, now) && m.forcedUntil !== null) return open(next, 'openedForced', now);
  if (canOpen(m, now) && m.isCodeRefused) return open(next, 'openedRefused', now);
  if (canOpen(m, now) && !isConfigured(m) && now >= freeFrom(m)) return open(next, 'openedUnconfigured', now);
  const higher = toClimb(m, now);
  return hasFirst(higher) ? climb(next, higher, now) : stay(next);
}

/** Tries the networks of higher priority, and goes back to the one in use if none of them works. */
function climb(s: State, higher: readonly [string, ...string[]], now: number): Next {
  const m = s.memory;
  const back = m.seen?.wifi ? [m.seen.wifi.profile] : [];
  const next = withMemory(s, { climb: { at: now, failures: m.climb.failures + 1 } });
  return join(next, 'triesHigher', { of: 'normal', profiles: [...higher, ...back] }, now);
}

function inOffline(s: State, now: number): Next {
  const m = s.memory;
  if (m.pending?.profile) return joinEntered(s, m.pending.profile, 'entered', now);
  const next = withMemory(s, { pending: null });
  if (m.onlineSince !== null) return go(next, 'cameOnline', { at: 'online' }, now);
  if (isRebootDue(m, now)) return reboot(next, 'rebooted', now);
  if (canOpen(m, now)) {
    const offline = now - (m.offlineSince ?? now);
    if (m.forcedUntil !== null) return open(next, 'openedForced', now);
    if (m.isCodeRefused && m.seen?.wifi) return open(next, 'openedRefused', now);
    if (!isConfigured(m) && m.seen?.known.length === 0) return open(next, 'openedFresh', now);
    if (offline >= m.settings.limits.offlineBeforeHotspot) return open(next, 'openedOffline', now);
  }
  if (now < heldUntil(m) || now < connectingUntil(m)) return stay(next);
  const profiles = toTry(m, 'normal', now);
  if (!hasFirst(profiles)) return stay(next);
  // What is left because it does not work was tried until now.
  const left = m.seen?.wifi ? { tried: { ...m.tried, [m.seen.wifi.profile]: now } } : {};
  return join(withMemory(next, left), 'joinsKnown', { of: 'normal', profiles }, now);
}

function reboot(s: State, by: 'rebooted' | 'rebootedProvisioning', now: number, ...before: Effect[]): Next {
  const record = withReboot(s.memory.record);
  const until = now + s.memory.settings.limits.rebootAnswer;
  return go(withMemory(s, { record }), by, { at: 'rebooting', until }, now, ...before, { do: 'reboot', record });
}

const forcedFrom = ({ forcedUntil, settings }: Memory, now: number): number | null =>
  forcedUntil === null ? null : now + settings.limits.retryConnection;

function inOpening(s: Extract<State, { at: 'opening' }>, e: Event | Due, now: number): Next {
  const answer = e.is === 'hotspot' && e.id === s.id ? e : null;
  if (answer?.ok === true) {
    const phase = { at: 'hotspot', settings: answer.settings ?? s.memory.settings.hotspot } as const;
    const next = withMemory(s, { hotspotFailures: 0, hotspotProblem: '', forcedUntil: forcedFrom(s.memory, now) });
    return go(next, 'started', phase, now);
  }
  if (!answer && now < s.until) return stay(s);
  const { hotspotFailures, settings } = s.memory;
  const wait = Math.min(settings.limits.firstBackoff * 2 ** hotspotFailures, settings.limits.maxBackoff);
  const next = withMemory(s, {
    hotspotFailures: Math.min(hotspotFailures + 1, 30),
    hotspotProblem: answer ? answer.problem : 'no answer',
    hotspotFrom: now + wait,
    forcedUntil: forcedFrom(s.memory, now),
  });
  // A radio that cannot be a hotspot can still join: rule 3 is all that brings this machine back.
  return afterHotspot(next, now, ...(answer ? [] : [stopHotspot]));
}

/** The hotspot is gone without having done its work. */
function afterHotspot(s: State, now: number, ...before: Effect[]): Next {
  const m = s.memory;
  if (m.pending?.profile) return joinEntered(s, m.pending.profile, 'user', now, ...before);
  const next = withMemory(s, { pending: null });
  if (m.onlineSince !== null) return go(next, 'foundOnline', { at: 'online' }, now, ...before);
  if (toTry(m, 'provisioning', now).length > 0) return search(next, 'notStarted', now, ...before);
  return go(next, 'gaveUp', { at: 'offline' }, now, ...before);
}

function inHotspot(s: Extract<State, { at: 'hotspot' }>, e: Event | Due, now: number): Next {
  const m = s.memory;
  const { limits } = m.settings;
  if (e.is === 'hotspotEnded' || m.seen?.hasRadio !== true) {
    const problem = e.is === 'hotspotEnded' ? e.problem : 'the radio is gone';
    const hotspotFrom = now + limits.firstBackoff;
    return go(withMemory(s, { hotspotProblem: problem, hotspotFrom }), 'lost', { at: 'offline' }, now, stopHotspot);
  }
  if (m.pending) {
    const canUse = m.pending.profile !== null || m.onlineSince !== null || m.seen.known.length > 0;
    if (canUse) return go(s, 'submitted', { at: 'closing', until: now + limits.replyGrace }, now);
    return stay(withMemory(s, { pending: null }));
  }
  if (e.is === 'exited') {
    const next = withMemory(s, { userAt: -Infinity, forcedUntil: null });
    return go(next, 'exited', { at: 'closing', until: now + limits.replyGrace }, now);
  }
  if (e.is === 'channelForbidden') return open(s, 'moved', now, stopHotspot);
  const isReopening = s.settings !== m.settings.hotspot && losesNoUser(m, now);
  if (isReopening && m.forcedUntil !== null) return open(s, 'reopened', now, stopHotspot);
  if (isUserActive(m, now) || m.forcedUntil !== null) return stay(s);
  if (isRebootDue(m, now)) return reboot(s, 'rebootedProvisioning', now, stopHotspot);
  if (isConfigured(m)) {
    if (m.onlineSince !== null) return go(s, 'onlineOtherwise', { at: 'online' }, now, stopHotspot);
    const profiles = roundOfNew(choiceOf(m), now);
    if (hasFirst(profiles)) return join(s, 'knownReturned', { of: 'round', profiles }, now, stopHotspot);
  }
  if (isReopening) return open(s, 'reopened', now, stopHotspot);
  if (now - s.since < limits.retryConnection || m.onlineSince !== null) return stay(s);
  return search(s, 'retryTimeout', now, stopHotspot);
}

/** The answer has reached the phone: take up what was entered. */
function close(s: State, now: number): Next {
  const m = s.memory;
  if (m.pending?.profile) return joinEntered(s, m.pending.profile, 'user', now, stopHotspot);
  const next = withMemory(s, { pending: null });
  if (m.onlineSince !== null) return go(next, 'foundOnline', { at: 'online' }, now, stopHotspot);
  return search(next, 'searchesKnown', now, stopHotspot);
}

function inSearching(s: Extract<State, { at: 'searching' }>, e: Event | Due, now: number): Next {
  const answer = e.is === 'scanned' && e.id === s.id ? e : null;
  if (!answer && now < s.until) return stay(s);
  const m = s.memory;
  if (m.pending?.profile) return joinEntered(s, m.pending.profile, 'user', now);
  const next = withMemory(s, { pending: null });
  if (m.onlineSince !== null) return go(next, 'foundOnline', { at: 'online' }, now);
  const isBlocked = now < m.hotspotFrom;
  const profiles = isBlocked ? toTry(m, 'provisioning', now) : roundOf(choiceOf(m), answer?.ok === true, now);
  if (m.seen?.hasRadio === true && hasFirst(profiles)) return join(next, 'joinsRound', { of: 'round', profiles }, now);
  return canOpen(m, now) ? open(next, 'openedAgain', now) : go(next, 'gaveUp', { at: 'offline' }, now);
}

function inJoining(s: Extract<State, { at: 'joining' }>, e: Event | Due, now: number): Next {
  const answer = e.is === 'joined' && e.id === s.id ? e.answer : null;
  if (!answer && now < s.until) return stay(s);
  if (!s.memory.settings.isManaged) return disable(s, now);
  const { seen, chosen } = s.memory;
  const isEntered = s.of === 'user' || s.of === 'entered';
  const leads = isEntered || isPrimary(s.profile, seen?.known ?? [], chosen);
  const result = joinResult(s.memory, answer ?? { ok: false, reason: 'timed-out' }, leads);
  const entered = isEntered ? { lastEntered: { profile: s.profile, result, at: now } } : {};
  if (answer?.ok !== true || result !== 'ok') return joinFailed(withMemory(s, entered) as typeof s, now);
  const { connectivity, isCloudReached } = answer;
  const joined = seen && { ...seen, wifi: { profile: s.profile }, connectivity, isCloudReached };
  const memory = { ...s.memory, ...entered, seen: joined, linkSince: now, ...(isEntered ? { chosen: s.profile } : {}) };
  const next = withClocks(memory, now);
  const climbed = isBelow(next) ? next.climb : { ...next.climb, failures: 0 };
  return go({ ...s, memory: { ...next, climb: climbed } }, 'joined', { at: 'online' }, now);
}

/** A link is not left while a set-up code waits for its server, nor because there was nothing to check it with. */
function joinResult(m: Memory, answer: JoinAnswer, leads: boolean): AttemptResult {
  const result = attemptResult(answer, m.settings.mode, leads);
  if (!answer.ok || result === 'ok' || isConfigured(m)) return result;
  return m.isCodePending || answer.connectivity === 'unknown' ? 'ok' : result;
}

function joinFailed(s: Extract<State, { at: 'joining' }>, now: number): Next {
  const m = s.memory;
  if (m.pending?.profile) return joinEntered(s, m.pending.profile, s.of === 'user' ? 'user' : 'entered', now);
  const next = withMemory(s, { pending: null });
  if (s.of === 'user' && canOpen(m, now)) return open(next, 'openedAfterFailure', now);
  if (m.onlineSince !== null) return go(next, 'foundOnline', { at: 'online' }, now);
  const rest = s.rest.filter((profile) => m.seen?.known.some((network) => network.profile === profile));
  if (hasFirst(rest)) return join(next, 'joinsNext', { of: s.of, profiles: rest }, now);
  if (s.of === 'round' && canOpen(m, now)) return open(next, 'openedAgain', now);
  return go(next, 'gaveUp', { at: 'offline' }, now);
}

// After each step

/** The first time online with credentials, and the end of a row of reboots. */
function withRecord({ state, effects }: Next, now: number): Next {
  const { record, onlineSince, settings } = state.memory;
  if (onlineSince === null || !isConfigured(state.memory)) return { state, effects };
  const isSteady = now - onlineSince >= settings.limits.steadyOnline;
  const reboots = isSteady ? 0 : record.reboots;
  if (record.hasBeenOnline && record.reboots === reboots) return { state, effects };
  const kept = { hasBeenOnline: true, reboots };
  return { state: withMemory(state, { record: kept }), effects: [...effects, { do: 'keepRecord', record: kept }] };
}

function withWake({ state, effects }: Next, now: number): Next {
  return { state: { ...state, wakeAt: wakeOf(state, now) }, effects };
}

function wakeOf(s: State, now: number): number {
  switch (s.at) {
    case 'unmanaged':
      return Infinity;
    case 'opening':
    case 'closing':
    case 'searching':
    case 'joining':
    case 'rebooting':
      return s.until;
    default: {
      const next = decide(s, { is: 'due' }, now);
      return next.state.at === s.at && next.state.by === s.by ? nextChange(s, now) : now;
    }
  }
}

/** The next instant at which time alone may change something; an instant that has passed changed nothing. */
function nextChange(s: State, now: number): number {
  const m = s.memory;
  const { limits } = m.settings;
  const times = [
    m.userAt + limits.userIdle,
    m.forcedUntil ?? Infinity,
    m.hotspotFrom,
    heldUntil(m),
    connectingUntil(m),
    climbFrom(m),
    s.since + limits.retryConnection,
    m.hotspotChangedAt + limits.retryConnection,
    freeFrom(m),
    rebootAt(m),
    (m.offlineSince ?? Infinity) + limits.offlineBeforeHotspot,
    m.record.reboots > 0 && m.onlineSince !== null ? m.onlineSince + limits.steadyOnline : Infinity,
    ...Object.values(m.tried).map((at) => at + limits.retryConnection),
  ];
  return Math.min(...times.filter((time) => time > now));
}
