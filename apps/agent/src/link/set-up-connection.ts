import { createHash } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors/errors';
import { fingerprintLetters } from '@platform/contract/provisioning/set-up-code';
import type { Clock } from '@platform/kit';
import { fetchUnverified } from '@platform/kit/node';
import type { System } from '../os/ports.ts';
import { boundedText } from './bounded-text.ts';
import { onceFetch } from './tolerant-fetch.ts';

/** What a machine without credentials knows of a server. */
interface NamedServer {
  /** Base URL. */
  server: string;
  /** `fingerprintLetters` of its own certificate authority; absent: its certificate is verified by those of the system. */
  authority?: string;
  /** Certificates of its own authority, PEM, known already; absent: `authority` or the system verifies its certificate. */
  pem?: string;
}

/** @throws PlatformError SET_UP_AUTHORITY_DIFFERS, Error: no connection */
export type Connect = (to: NamedServer, signal: AbortSignal) => Promise<typeof fetch>;

const authorityPath = '/authority.pem';

/**
 * Connections for set-up codes. The server shows the certificates of its authority to all clients; they are trusted only
 * if their hash is the one that the user entered.
 */
export function setUpConnections(of: { root: string; clock: Clock; system: System }): Connect {
  /** Node trusts an authority in the whole process, so each of them is added once. */
  const made = new Map<string, typeof fetch>();
  return async ({ server, authority, pem: known }, signal) => {
    const isPinned = authority !== undefined && server.startsWith('https:');
    const pem = known ?? (isPinned ? await authorityOf({ server, authority }, signal) : undefined);
    const key = pem === undefined ? '' : `${server} ${known ?? authority}`;
    const trusted = pem === undefined ? undefined : { origin: server, pem };
    const send = made.get(key) ?? (await onceFetch(trusted, of));
    made.set(key, send);
    return send;
  };
}

/** Undefined: the server has none of its own any more; then a public authority must vouch for it. */
async function authorityOf(
  { server, authority }: Required<Pick<NamedServer, 'server' | 'authority'>>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const answer = await fetchUnverified(new Request(`${server}${authorityPath}`, { signal }), process.env);
  const pem = await boundedText(answer);
  if (answer.status === 404) return undefined;
  const found = fingerprintLetters(createHash('sha256').update(pem).digest('hex'));
  if (answer.status !== 200 || found !== authority)
    throw new PlatformError('SET_UP_AUTHORITY_DIFFERS', { address: server });
  return pem;
}
