/** `value` without a trailing slash, or the problem as a clause for users. */
export type ServerUrl =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly problem: string; readonly shown: string };

/**
 * Reads the URL of a management server as users type it. Web app and all calls stand at the root of a server, so a path
 * is a mistake: mostly the address of a page.
 */
export function parseServerUrl(text: string): ServerUrl {
  const typed = text.trim();
  // A password in the URL must not reach a log.
  const shown = typed.replace(/\/\/[^/]*@/, '//***@').slice(0, 200);
  const refuse = (problem: string): ServerUrl => ({ ok: false, problem, shown });
  if (typed === '') return refuse('it is empty');
  if (!/^https?:\/\//i.test(typed)) {
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(typed)) return refuse('it must begin with https:// or http://');
    const guess = urlOf(`https://${typed}`);
    const example = guess && guess.pathname === '/' ? `, for example https://${guess.host}` : '';
    return refuse(`it must begin with https:// or http://${example}`);
  }
  const url = urlOf(typed);
  if (!url) return refuse('it is not a valid URL');
  if (url.username !== '' || url.password !== '') return refuse('it must not contain a user name or a password');
  if (url.pathname !== '/' || typed.includes('?') || typed.includes('#'))
    return refuse(`it must not have a path, a query or a fragment: give ${url.origin}`);
  return { ok: true, value: url.origin };
}

/** Node 18 and older browsers have no URL.parse. */
const urlOf = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined);
