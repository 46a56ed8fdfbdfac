import type { Clock } from '@platform/kit';
import type { Peer } from '../dbus/bus.ts';
import { flagIn, numberIn } from '../dbus/read.ts';
import { Variant } from '../dbus/values.ts';
import { managerName, managerPath, type Objects, propertiesAt } from './objects.ts';

const radioOnMs = 10_000;
const pollMs = 250;
const disconnected = 30;

/**
 * Switches WiFi on, as `rfkill unblock` does, and waits until the device can be used.
 *
 * @returns why the radio is off; undefined: it is on
 */
export async function switchOn(
  device: string,
  { manager, objects, clock }: { manager: Peer; objects: () => Promise<Objects>; clock: Clock },
  signal: AbortSignal,
): Promise<string | undefined> {
  const all = propertiesAt(await objects(), managerPath, '');
  if (!flagIn(all, 'WirelessHardwareEnabled', true)) return 'a switch of the machine has turned WiFi off';
  if (flagIn(all, 'WirelessEnabled', true)) return undefined;
  await manager.call({
    path: managerPath,
    interface: 'org.freedesktop.DBus.Properties',
    member: 'Set',
    signature: 'ssv',
    args: [managerName, 'WirelessEnabled', new Variant('b', true)],
  });
  for (const end = clock.now() + radioOnMs; clock.now() < end && !signal.aborted; await clock.sleep(pollMs, signal)) {
    if (numberIn(propertiesAt(await objects(), device, 'Device'), 'State') >= disconnected) return undefined;
  }
  return 'WiFi was switched on, but the radio stays off';
}
