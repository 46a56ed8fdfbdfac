import type { State } from '../../state-machines/provisioning-state.ts';
import { hotspotSsid, type NetworkSettings } from '../settings/network-settings.ts';

export type BluetoothWanted =
  | { is: 'on'; name: string; password: string }
  /** A client may still wait for the outcome. */
  | { is: 'ending' }
  | { is: 'off' };

/** An advertisement has room for no more. */
const nameBytes = 26;

/**
 * Bluetooth is offered while a user can provision, and while what they entered is tried: unlike the hotspot, it needs
 * no radio that joins a network. A machine without a WiFi radio, which has no hotspot, offers it until it has
 * credentials.
 */
export function bluetoothWanted(state: State, settings: NetworkSettings, hostname: string): BluetoothWanted {
  if (settings.isDisabled || state.at === 'unmanaged' || settings.config.disable_bt_provisioning) return { is: 'off' };
  const isTrying = state.at === 'joining' && (state.of === 'user' || state.of === 'round');
  const { seen, credentials } = state.memory;
  const isOnlyWay = seen?.hasRadio === false && credentials !== 'given';
  const isOpen = ['opening', 'hotspot', 'closing', 'searching'].includes(state.at);
  if (!isOpen && !isTrying && !isOnlyWay) return { is: 'ending' };
  let name = hotspotSsid(settings, hostname).ssid;
  while (Buffer.byteLength(name) > nameBytes) name = Array.from(name).slice(0, -1).join('');
  return { is: 'on', name, password: settings.config.hotspot_password };
}
