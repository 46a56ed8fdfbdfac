import type { LinkDevice, NetworkState, SavedProfile } from '../../os/network-port.ts';
import type { NetworkAttempt } from './network-status.ts';

/** A link, since when it is as it is, and why. */
export interface LinkStatus extends LinkDevice {
  /** When the agent saw this state or network begin; at the earliest its own start. ms since 1970. */
  sinceWall: number;
  /** For users; empty: nothing is known. */
  why: string;
}

type Known = Pick<NetworkState, 'devices' | 'profiles' | 'visible'>;

/** Remembers since when each link is in its state and network. */
export class ConnectionHistory {
  #noted: ReadonlyMap<string, { key: string; sinceWall: number }> = new Map();

  /** The links of an observation; one that looks as before keeps its instant. */
  note(network: Known, attempts: readonly NetworkAttempt[], wall: number): readonly LinkStatus[] {
    const noted = network.devices.map((link) => {
      const key = JSON.stringify([link.state, link.isHotspot, link.profile, link.ssid]);
      const before = this.#noted.get(link.interface);
      return { link, key, sinceWall: before?.key === key ? before.sinceWall : wall };
    });
    this.#noted = new Map(noted.map(({ link, key, sinceWall }) => [link.interface, { key, sinceWall }]));
    return noted.map(({ link, sinceWall }) => ({ ...link, sinceWall, why: linkWhy(link, network, attempts) }));
  }
}

/** Why a link is in its state, from what the operating system and the last attempts say. */
export function linkWhy(link: LinkDevice, { profiles, visible }: Known, attempts: readonly NetworkAttempt[]): string {
  if (link.isHotspot) return 'the hotspot of this machine';
  const failed = failureOf(link, attempts);
  switch (link.state) {
    case 'connected':
    case 'connecting':
      return profileText(profiles.find(({ uuid }) => uuid === link.profile));
    case 'failed':
      return failed || 'the connection failed';
    case 'disconnected': {
      if (failed !== '') return failed;
      const isNear = profiles.some(
        ({ type, ssid }) =>
          type === 'wifi' && visible.some((seen) => seen.interface === link.interface && seen.ssid === ssid),
      );
      if (link.type === 'wifi') return isNear ? 'no known network is joined' : 'no known network is in reach';
      return link.type === 'wired' ? 'no profile is active for it' : '';
    }
    case 'unavailable':
      if (link.type === 'wired') return 'no cable is plugged in, or nothing answers at its other end';
      return link.type === 'wifi' ? 'the radio is switched off' : '';
    case 'unmanaged':
      return 'NetworkManager does not manage it';
    default:
      return link.state satisfies never;
  }
}

/** The text of the newest attempt on this interface; empty: none, or it did not fail. */
function failureOf({ interface: name }: LinkDevice, attempts: readonly NetworkAttempt[]): string {
  const last = attempts.find((attempt) => attempt.interface === name);
  return last === undefined || last.result === 'ok' ? '' : last.text;
}

function profileText(profile: SavedProfile | undefined): string {
  if (!profile) return '';
  const { mark, name, priority } = profile;
  if (mark?.kind === 'provisioned') return `entered when the machine was set up, priority ${priority}`;
  if (mark?.kind === 'additional') return `additional network ${mark.name}, priority ${priority}`;
  return `profile ${name} of the operating system, priority ${priority}`;
}
