import type { KnownNetwork, Observation } from '../../state-machines/network-rules.ts';
import type { LinkDevice, NetworkState, SavedProfile } from '../../os/network-port.ts';
import { connectivityAt } from './connectivity-watch.ts';

/** The interface for hotspot and WiFi: the configured one, or the first radio; empty: there is none. */
export function radioOf({ devices }: NetworkState, configured: string): string {
  const radios = devices.filter(({ type, state }) => type === 'wifi' && state !== 'unmanaged');
  const found = configured === '' ? radios[0] : radios.find((device) => device.interface === configured);
  return found?.interface ?? '';
}

const isUp = ({ state, isHotspot }: LinkDevice): boolean => state === 'connected' && !isHotspot;

/** Connected links, the hotspot left out. */
export const linksOf = ({ devices }: NetworkState): readonly LinkDevice[] =>
  devices.filter((device) => isUp(device) && device.type !== 'other');

/** A WiFi profile that may be joined: one of this agent, or one that the operating system activates by itself. */
const isKnown = (profile: SavedProfile, radio: string): boolean =>
  profile.type === 'wifi' &&
  !profile.isHotspot &&
  profile.mark?.kind !== 'hotspot' &&
  (profile.interface === '' || profile.interface === radio) &&
  (profile.mark !== undefined || profile.isAutoconnect);

/** @param now - ms of the monotonic clock: what was measured too long ago is unknown. */
export function observationOf(state: NetworkState, radio: string, isCloudReached: boolean, now: number): Observation {
  if (state.manager !== 'ready') {
    // The links are unknown: only the management server shows whether this machine is online.
    const hasOtherLink = state.manager !== 'starting';
    return {
      hasRadio: false,
      wifi: null,
      hasOtherLink,
      connectivity: 'unknown',
      isCloudReached,
      known: [],
      visible: [],
    };
  }
  const links = linksOf(state);
  const wifi = links.find((link) => link.interface === radio && link.type === 'wifi');
  const connecting = state.devices.find((one) => one.interface === radio && one.state === 'connecting')?.profile ?? '';
  return {
    ...(connecting !== '' && { connecting }),
    hasRadio: radio !== '' && state.devices.some((d) => d.interface === radio),
    wifi: wifi ? { profile: wifi.profile } : null,
    hasOtherLink: links.some((link) => link !== wifi),
    connectivity: connectivityAt(state, now),
    isCloudReached,
    known: state.profiles
      .filter((profile) => isKnown(profile, radio))
      .map(({ uuid, ssid, priority, isHidden }): KnownNetwork => ({ profile: uuid, ssid, priority, isHidden })),
    visible: state.visible.filter((one) => one.interface === radio).map(({ ssid, seen }) => ({ ssid, seen })),
  };
}
