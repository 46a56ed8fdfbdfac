import type { X509Certificate } from 'node:crypto';
import { get as getPlain, type IncomingMessage } from 'node:http';
import { get as getSecure } from 'node:https';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
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
  const own = await readIdentity(await localUrl());
  if (own.status !== 200) throw new Error(`status ${own.status}`);
  try {
    const identity = await readIdentity(url);
    if (identity.status !== 200) throw new Error(`status ${identity.status}`);
    return identity.body === own.body
      ? undefined
      : `${url} leads to another server. Machines would register there: check the name and the proxy.`;
  } catch (error) {
    return `${url} does not answer from this host (${errorText(error)}). That is normal where the name leads here only from outside; else check the name, the port and the proxy.`;
  }
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  /** What the header says, ms since 1970; NaN: there was none. */
  readonly date: number;
  /** Undefined: it answered without TLS. */
  readonly certificate: X509Certificate | undefined;
  /** Why this host does not trust the certificate; empty: it does. */
  readonly distrust: string;
}

/** What makes the server behind a URL recognizable. Any certificate will do, because only content is compared. */
export async function readIdentity(url: string): Promise<Answer> {
  const get = url.startsWith('https:') ? getSecure : getPlain;
  const signal = AbortSignal.timeout(answerMs);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { signal, rejectUnauthorized: false, agent: false };
    get(`${url.replace(/\/$/, '')}${ownDocument}`, options, resolve).on('error', reject);
  });
  const socket = response.socket as Partial<TLSSocket>;
  const certificate = socket.getPeerX509Certificate?.();
  const distrust = socket.authorized === false ? String(socket.authorizationError) : '';
  const date = Date.parse(response.headers.date ?? '');
  return { status: response.statusCode ?? 0, body: await text(response), date, certificate, distrust };
}
