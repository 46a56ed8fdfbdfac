import type { NetworkManagerParts } from '../src/os/linux/network-manager.ts';
import { wifiCountry } from '../src/os/linux/wifi-country.ts';
import { systemClock } from '@platform/kit/node';

/** The adapter's parts for radios and key files, on a machine without any. */
export function withoutRadio(root: string): Pick<NetworkManagerParts, 'rules' | 'country' | 'keyFiles'> {
  const rules = {
    country: async () => '',
    askFor: async () => {},
    ownCountry: async () => '',
    channels: async () => [],
  };
  const keyFiles = { read: async () => undefined, write: async () => {}, remove: async () => {} };
  return { rules, country: wifiCountry({ root, rules, clock: systemClock }), keyFiles };
}
