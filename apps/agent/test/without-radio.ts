import type { ForwardingCheck, HotspotForwarding } from '../src/os/linux/networkmanager/hotspot-forwarding.ts';
import type { NetworkManagerParts } from '../src/os/linux/networkmanager/network-manager.ts';
import { wifiCountry } from '../src/os/linux/kernel/wifi-country.ts';
import { systemClock } from '@platform/kit/node';

/** The adapter's parts for radios and key files, on a machine without any. */
export function withoutRadio(root: string): Pick<NetworkManagerParts, 'rules' | 'country' | 'forwarding' | 'keyFiles'> {
  const rules = {
    country: async () => '',
    askFor: async () => {},
    ownCountry: async () => '',
    isPowerSaving: async () => undefined,
    channels: async () => [],
    clients: async () => undefined,
  };
  const keyFiles = { read: async () => undefined, write: async () => {}, remove: async () => {} };
  const unblocked = async (): Promise<ForwardingCheck> => ({ problem: '', restored: [] });
  const forwarding: HotspotForwarding = { block: unblocked, check: unblocked, release: async () => {} };
  return { rules, country: wifiCountry({ root, rules, clock: systemClock }), forwarding, keyFiles };
}
