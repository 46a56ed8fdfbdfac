import { isIP, type Socket } from 'node:net';
import { connect as connectTls, getCACertificates, type TLSSocket } from 'node:tls';
import { readCertificate, type Certificate } from './certificate.ts';
import { verifyChain, type VerifiedChain } from './chain.ts';
import { connectByProxy, proxyFor } from './proxy.ts';
import { connected, opened } from './sockets.ts';

export interface ConnectOptions {
  /** An https URL. */
  url: URL;
  /** ms since 1970, certainly in the past. */
  floor: number;
  env: Readonly<Record<string, string | undefined>>;
  /** PEM CAs to trust in addition to the runtime's. */
  authorities: readonly string[];
}

/**
 * Connects and performs the handshake only. Verifies everything about the server's certificates except the clock of
 * this machine.
 *
 * @throws CertificateRefused; Error when the connection fails.
 */
export async function connectVerified(
  { url, floor, env, authorities: more }: ConnectOptions,
  signal: AbortSignal,
): Promise<{ socket: TLSSocket; chain: VerifiedChain }> {
  const host = hostOf(url);
  const socket = await connectUnverified({ url, env }, signal);
  try {
    const authorities = [...more, ...getCACertificates('default')].flatMap(readable);
    return { socket, chain: verifyChain({ sent: chainOf(socket), authorities, host, floor }) };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Connects to whoever answers: nothing is known of the server. */
export async function connectUnverified(
  { url, env }: Pick<ConnectOptions, 'url' | 'env'>,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const host = hostOf(url);
  const port = Number(url.port || 443);
  const proxy = proxyFor(url, env);
  signal.throwIfAborted();
  const plain = proxy ? await connectByProxy(proxy, { host, port }, signal) : await connected(host, port, signal);
  return handshake(plain, host, signal);
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

function handshake(plain: Socket, host: string, signal: AbortSignal): Promise<TLSSocket> {
  // Accepts any certificate here: callers verify the chain before they send anything that is not public.
  const unverified = { rejectUnauthorized: false, ...(isIP(host) === 0 && { servername: host }) };
  const socket = connectTls({ socket: plain, ALPNProtocols: ['http/1.1'], minVersion: 'TLSv1.2', ...unverified });
  return opened(socket, 'secureConnect', signal);
}

function chainOf(socket: TLSSocket): Certificate[] {
  const chain: Certificate[] = [];
  // The last certificate of a complete chain is its own issuer.
  for (let one = socket.getPeerCertificate(true), seen = new Set(); one?.raw && !seen.has(one.fingerprint256);) {
    seen.add(one.fingerprint256);
    chain.push(readCertificate(one.raw));
    one = one.issuerCertificate;
  }
  return chain;
}

/** Skips a CA certificate that cannot be parsed. */
function readable(text: string): Certificate[] {
  try {
    return [readCertificate(text)];
  } catch {
    return [];
  }
}
