import path from 'node:path';
import { controlOf } from '../control/client.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';
import { sessionLink } from './session-address.ts';

/** Has the running agent start its hotspot, which takes the radio from the WiFi network in use. */
export async function forceHotspot(given: { root: string; yes: boolean; json: boolean }, io: Io): Promise<number> {
  const control = controlOf(path.resolve(given.root), io.clock);
  const { network } = await control.status();
  const wifi = await sessionLink(network?.links.filter(({ type }) => type === 'wifi') ?? [], io.env);
  if (wifi && !given.yes) {
    throw new Ended(exitCodes.refused, {
      code: 'NOT_CONFIRMED',
      what: `This session comes over the WiFi network ${wifi.ssid}, which the hotspot would end.`,
      remedy: 'Use --yes. The machine joins the network again when provisioning ends.',
    });
  }
  const answer = await control.post('/provision', {});
  io.out(given.json ? JSON.stringify(answer) : answer.did);
  return answer.is_changed ? exitCodes.done : exitCodes.refused;
}
