import type { LinkDevice, NetworkState } from '../../os/network-port.ts';
import { linksOf } from '../checks/observation.ts';

const isIpv4 = (address: string): boolean => address.includes('.') && !address.includes(':');

/** Connected, and without an IPv4 address. */
export const isIpv6Only = ({ addresses }: Pick<LinkDevice, 'addresses'>): boolean =>
  addresses.length > 0 && !addresses.some(isIpv4);

/**
 * What a user should know about links and radios, although the agent works with them.
 *
 * @param radio - the one for WiFi and hotspot; empty: none.
 * @param expected - the configured one, or the last one that this agent used; empty: none.
 */
export function networkNotes(state: NetworkState, radio: string, expected: string): readonly string[] {
  if (state.manager !== 'ready') return [];
  const others = state.devices.filter(
    (device) => device.type === 'wifi' && device.state !== 'unmanaged' && device.interface !== radio,
  );
  return [
    ...(radio === '' && expected !== '' ? [`the WiFi radio ${expected} is not plugged in`] : []),
    ...(radio === ''
      ? []
      : others.map(({ interface: name }) => `${name} is a second radio: the agent uses ${radio} (hotspot_interface)`)),
    ...linksOf(state)
      .filter(isIpv6Only)
      .map(({ ssid, interface: name }) => `${ssid || name} gives IPv6 addresses only`),
  ];
}
