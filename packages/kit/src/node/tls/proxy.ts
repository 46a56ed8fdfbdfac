import type { Socket } from 'node:net';
import { connected } from './sockets.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const longestAnswer = 16 * 1024;

/** The proxy for an https URL according to the environment; undefined if none applies. */
export function proxyFor({ hostname, port }: URL, env: Environment): URL | undefined {
  const valueOf = (name: string): string => env[name] ?? env[name.toUpperCase()] ?? '';
  const proxy = valueOf('https_proxy');
  if (proxy === '' || !URL.canParse(proxy)) return undefined;
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const isExcepted = (entry: string): boolean => {
    const [, name = '', itsPort = ''] = /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(entry.trim().toLowerCase()) ?? [];
    if (name === '' || (itsPort !== '' && itsPort !== (port || '443'))) return false;
    const bare = name.replace(/^\*?\./, '');
    return name === '*' || host === bare || host.endsWith(`.${bare}`);
  };
  return valueOf('no_proxy').split(',').some(isExcepted) ? undefined : new URL(proxy);
}

/** Connects to `to` through a proxy that uses plain HTTP. */
export async function connectByProxy(
  proxy: URL,
  to: { host: string; port: number },
  signal: AbortSignal,
): Promise<Socket> {
  if (proxy.protocol !== 'http:') throw new Error(`a proxy by ${proxy.protocol} is not supported`);
  const socket = await connected(proxy.hostname.replace(/^\[|\]$/g, ''), Number(proxy.port || 80), signal);
  const target = `${to.host.includes(':') ? `[${to.host}]` : to.host}:${to.port}`;
  const user = [proxy.username, proxy.password].map(decodeURIComponent).join(':');
  const sign = proxy.username === '' ? '' : `Proxy-Authorization: Basic ${Buffer.from(user).toString('base64')}\r\n`;
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${sign}\r\n`);
  const answer = await headOf(socket, signal);
  if (/^HTTP\/1\.[01] 2\d\d[ \r]/.test(answer)) return socket;
  socket.destroy();
  throw new Error(`the proxy answers ${answer.split('\r\n')[0]?.slice(0, 100)}`);
}

function headOf(socket: Socket, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let head = '';
    const fail = (error: Error): void => void socket.destroy(error);
    const abort = (): void => fail(signal.reason as Error);
    const hear = (part: Buffer): void => {
      head += part.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0 && head.length <= longestAnswer) return;
      // A TLS server sends nothing first, so the response must end here.
      if (end !== head.length - 4) return fail(new Error('the proxy answers something else than HTTP'));
      socket.off('data', hear).off('close', gone);
      socket.pause();
      signal.removeEventListener('abort', abort);
      resolve(head);
    };
    const gone = (): void => reject(new Error('the proxy closed the connection'));
    socket.on('data', hear).once('error', reject).once('close', gone);
    signal.addEventListener('abort', abort, { once: true });
  });
}
