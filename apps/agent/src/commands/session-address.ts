import { readFile } from 'node:fs/promises';
import type { Io } from './command.ts';

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

/** The link that the SSH session of this command uses; undefined: another one, or there is no session. */
export async function sessionLink<T extends { addresses: readonly string[] }>(
  links: readonly T[],
  env: Io['env'],
): Promise<T | undefined> {
  const own = await sessionAddress(env);
  return links.find(({ addresses }) => addresses.some((address) => address.split('/')[0] === own));
}
