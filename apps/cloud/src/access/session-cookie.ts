/** Holds the secret of a browser session. */
export const sessionCookie = 'platform_session';
/** Over TLS. Browsers let only this host set a cookie with this prefix, so no page beside it puts in another session. */
export const secureSessionCookie = `__Host-${sessionCookie}`;

const pairsOf = (cookies: string): string[] =>
  cookies
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '');

/**
 * The `cookie` header of a request with its session under the plain name: what came under the other name, for the other
 * kind of connection, is left out.
 */
export function cookiesFor(cookies: string, isSecure: boolean): string {
  const [own, other] = isSecure ? [secureSessionCookie, sessionCookie] : [sessionCookie, secureSessionCookie];
  return pairsOf(cookies)
    .filter((pair) => !pair.startsWith(`${other}=`))
    .map((pair) => (pair.startsWith(`${own}=`) ? `${sessionCookie}${pair.slice(own.length)}` : pair))
    .join('; ');
}

/** Reads the session's secret from a `cookie` header that `cookiesFor` made. */
export const cookieOf = (cookies: string): string | undefined =>
  pairsOf(cookies)
    .find((pair) => pair.startsWith(`${sessionCookie}=`))
    ?.slice(sessionCookie.length + 1);
