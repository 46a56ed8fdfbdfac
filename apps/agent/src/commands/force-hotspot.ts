import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { controlOf } from '../control/client.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';

/** Has the running agent start its hotspot, which takes the radio from the WiFi network in use. */
export async function forceHotspot(given: { root: string; yes: boolean; json: boolean }, io: Io): Promise<number> {
  const control = controlOf(path.resolve(given.root), io.clock);
  const { network } = await control.status();
  const own = await sessionAddress(io.env);
  const wifi = network?.links.find(
    ({ type, addresses }) => type === 'wifi' && addresses.some((address) => address.split('/')[0] === own),
  );
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

const mostParents = 10;

/** The address of this machine that the SSH session uses; sudo hides it from the environment. Undefined: no session. */
async function sessionAddress(env: Io['env']): Promise<string | undefined> {
  let connection = env['SSH_CONNECTION'];
  let pid = process.ppid;
  for (let n = 0; connection === undefined && pid > 1 && n < mostParents; n++) {
    const variables = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    connection = /(?:^|\0)SSH_CONNECTION=([^\0]*)/.exec(variables)?.[1];
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    pid = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
  }
  return connection?.split(' ')[2];
}
