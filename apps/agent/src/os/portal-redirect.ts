import { type Clock, within } from '@platform/kit';

const limitMs = 5_000;
const networkAuthenticationRequired = 511;

/** A management server answers it without a page, and any other web server has no page there. */
const path = '/livez';

/**
 * Whether a captive portal answers plain HTTP in the place of a host: it gives a page for a path that has none, leads to
 * another page or host, or says so by its status. Never rejects.
 * @param port - of the host; absent: that of plain HTTP
 */
export function isIntercepted(
  { hostname, port = 80 }: { hostname: string; port?: number },
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  return within(limitMs, { what: 'a plain request', clock, signal }, async (over) => {
    const asked = new URL(`http://${hostname}:${port}${path}`);
    const { status, headers } = await fetch(asked, { method: 'HEAD', redirect: 'manual', signal: over });
    if (status >= 300 && status < 400) return isElsewhere(headers.get('location') ?? '', asked);
    const isPage = status >= 200 && status < 300 && /^text\/html\b/i.test(headers.get('content-type') ?? '');
    return isPage || status === networkAuthenticationRequired;
  }).catch(() => false);
}

/** A server that leads to itself over TLS, or writes a path in another way, is not a portal. */
function isElsewhere(location: string, asked: URL): boolean {
  const target = URL.parse(location, asked.href);
  if (!target || location === '') return false;
  if (target.hostname !== asked.hostname) return true;
  return target.protocol === 'http:' && !target.pathname.startsWith(path);
}
