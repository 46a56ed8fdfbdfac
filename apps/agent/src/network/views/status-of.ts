import { deadline } from '../../state-machines/provisioning-step.ts';
import { isUserActive } from '../../state-machines/provisioning-memory.ts';
import { moves } from '../../state-machines/provisioning-moves.ts';
import type { State } from '../../state-machines/provisioning-state.ts';
import { spacingMs } from '../../state-machines/reboot-spacing.ts';
import type { LinkDevice, NetworkState } from '../../os/network-port.ts';
import { connectivityAt } from '../checks/connectivity-watch.ts';
import type { LinkStatus } from '../rows/connection-history.ts';
import { networkNotes } from './network-notes.ts';
import { waitingFields } from '../settings/network-settings.ts';
import { linksOf } from '../checks/observation.ts';
import type { NetworkAttempt, NetworkStatus } from '../rows/network-status.ts';
import { handedOverText, type HandedOver } from '../profiles/hand-over.ts';

const modes: Readonly<Record<State['at'], NetworkStatus['mode']>> = {
  unmanaged: 'unmanaged',
  online: 'normal',
  offline: 'normal',
  opening: 'hotspot',
  hotspot: 'hotspot',
  closing: 'hotspot',
  searching: 'joining',
  joining: 'joining',
  rebooting: 'rebooting',
};

export interface StatusSource {
  machine: State;
  network: NetworkState;
  /** The devices of `network`, with what is remembered of them. */
  links: readonly LinkStatus[];
  isCloudReached: boolean;
  /** The name of the running hotspot. */
  hotspotSsid: string;
  /** See networkNotes. */
  radio: { used: string; expected: string };
  attempts: readonly NetworkAttempt[];
  /** What became of the profiles and files of this agent when the configuration disabled network management. */
  handedOver: HandedOver;
  /** Start of the state, ms since 1970. */
  sinceWall: number;
  now: number;
  wall: number;
}

export function statusOf(of: StatusSource): NetworkStatus {
  const { machine, network, isCloudReached, attempts, sinceWall } = of;
  const links = linksOf(network);
  const { text, at } = nextOf(of);
  const hotspotWaiting = waitingOf(machine, of.now);
  return {
    mode: modes[machine.at],
    sinceWall,
    why: reasonOf(of),
    next: text,
    nextWall: at === Infinity ? null : wallSecond(of, at),
    hasLink: links.length > 0,
    connectivity: connectivityAt(network, of.now),
    checkedWall: network.checkedAt === null ? null : wallSecond(of, network.checkedAt),
    isCloudReached,
    links: of.links,
    hotspotSsid: machine.at === 'hotspot' || machine.at === 'closing' ? of.hotspotSsid : '',
    attempts,
    hotspotWaiting,
    notes: [
      ...[waitingText(hotspotWaiting)].filter(Boolean),
      ...networkNotes(network, of.radio.used, of.radio.expected),
    ],
    isOnFallback: isOnFallback(machine, links),
  };
}

/** An instant of the monotonic clock as ms since 1970, in whole seconds. */
const wallSecond = ({ wall, now }: StatusSource, at: number): number => Math.round((wall + (at - now)) / 1000) * 1000;

/** What the running hotspot does not have yet, and what it waits for. */
function waitingOf(machine: State, now: number): NetworkStatus['hotspotWaiting'] {
  if (machine.at !== 'hotspot') return { fields: [], why: '' };
  const { memory } = machine;
  const fields = waitingFields(machine.settings, memory.settings.hotspot);
  if (fields.length === 0) return { fields, why: '' };
  const why = isUserActive(memory, now) ? 'a user is setting this machine up' : 'a phone is connected to the hotspot';
  return { fields, why };
}

/** A clause; empty: nothing waits. */
export const waitingText = (of: NetworkStatus['hotspotWaiting'] | undefined): string =>
  !of || of.fields.length === 0 ? '' : `the hotspot runs with its earlier ${of.fields.join(', ')}, because ${of.why}`;

function reasonOf({ machine, network, handedOver }: StatusSource): string {
  if (machine.at === 'unmanaged')
    return ['disable_network_configuration is true', handedOverText(handedOver)].filter(Boolean).join('; ');
  const manager = {
    starting: 'the state of the network is not known yet',
    absent: 'NetworkManager is not installed or does not run',
    'too-old': `NetworkManager ${network.version} is too old; 1.30 or newer is needed`,
    ready: '',
  }[network.manager];
  if (manager !== '') return manager;
  if (machine.at === 'offline' && machine.memory.hotspotProblem !== '')
    return `the hotspot could not be started: ${machine.memory.hotspotProblem}`;
  return machine.by === null ? 'the agent has started' : moves[machine.by].because;
}

/** What happens next by time, and when: an instant of the monotonic clock. */
function nextOf({ machine, now }: StatusSource): { text: string; at: number } {
  const { memory } = machine;
  const { limits } = memory.settings;
  const [none, later] = [Infinity, (at: number): number => Math.max(at, now)];
  const rebootAt =
    memory.offlineSince === null || !memory.record.hasBeenOnline
      ? none
      : memory.offlineSince + spacingMs(memory.record, limits.rebootAfterOffline);
  switch (machine.at) {
    case 'unmanaged':
    case 'online':
      return { text: '', at: none };
    case 'offline': {
      const hotspotAt =
        memory.seen?.hasRadio === true
          ? Math.max((memory.offlineSince ?? now) + limits.offlineBeforeHotspot, memory.hotspotFrom)
          : none;
      if (rebootAt < hotspotAt) return { text: 'the machine reboots, because it is offline', at: later(rebootAt) };
      return hotspotAt === none
        ? { text: 'waits until a network comes back', at: none }
        : { text: 'the hotspot starts, because no known network works', at: later(hotspotAt) };
    }
    case 'hotspot': {
      if (rebootAt < machine.since + limits.retryConnection)
        return { text: 'the machine reboots, because it is offline', at: later(rebootAt) };
      const at = Math.max(machine.since + limits.retryConnection, memory.userAt + limits.userIdle);
      return { text: 'the hotspot closes and the known networks are tried', at: later(at) };
    }
    case 'opening':
      return { text: 'the hotspot starts', at: none };
    case 'closing':
      return {
        text: memory.pending?.profile ? 'the network that was entered is tried' : 'each known network is tried once',
        at: later(deadline(machine)),
      };
    case 'searching':
      return { text: 'each known network is tried once', at: none };
    case 'joining':
      return { text: 'the result of this attempt decides', at: none };
    case 'rebooting':
      return { text: 'the machine reboots', at: none };
    default:
      return machine satisfies never;
  }
}

/** Online by a WiFi network, while another known one has a higher priority. */
function isOnFallback({ at, memory }: State, links: readonly LinkDevice[]): boolean {
  const { seen } = memory;
  if (at !== 'online' || !seen?.wifi || links.some(({ type }) => type === 'wired')) return false;
  const own = seen.known.find(({ profile }) => profile === seen.wifi?.profile);
  return own !== undefined && seen.known.some(({ priority }) => priority > own.priority);
}
