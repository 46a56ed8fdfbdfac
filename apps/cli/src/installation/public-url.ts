import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { text } from 'node:stream/consumers';
import { errorText } from '@platform/kit';
import { localUrl } from './readiness.ts';
import { readServerOptions } from './server-options.ts';

/** The first root document of the releases: no two installations have the same. */
const ownDocument = '/tuf/1.root.json';
const answerMs = 8_000;

/**
 * Compares the server behind the public URL with the one on this host.
 *
 * @returns a warning; undefined: it is the same, or there is no public URL.
 */
export async function checkPublicUrl(publicUrl?: string): Promise<string | undefined> {
  const url = publicUrl ?? (await readServerOptions()).public_url;
  if (url === undefined) return undefined;
  const own = await read(`${await localUrl()}${ownDocument}`);
  try {
    const found = await read(`${url.replace(/\/$/, '')}${ownDocument}`);
    return found === own
      ? undefined
      : `${url} leads to another server. Machines would register there: check the name and the proxy.`;
  } catch (error) {
    return `${url} does not answer from this host (${errorText(error)}). That is normal where the name leads here only from outside; else check the name, the port and the proxy.`;
  }
}

/** Only compares content, so any certificate will do. */
async function read(url: string): Promise<string> {
  const get = url.startsWith('https:') ? getSecure : getPlain;
  const signal = AbortSignal.timeout(answerMs);
  return new Promise((resolve, reject) => {
    const request = get(url, { signal, rejectUnauthorized: false }, (response) => {
      if (response.statusCode === 200) return void text(response).then(resolve, reject);
      response.resume();
      reject(new Error(`status ${response.statusCode}`));
    });
    request.on('error', reject);
  });
}
