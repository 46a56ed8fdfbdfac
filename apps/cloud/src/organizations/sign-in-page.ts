import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import type { Authenticator } from '../access/authenticate.ts';
import type { FailedSignIns } from '../access/failed-sign-ins.ts';
import { isSecret } from '../access/secrets.ts';
import { secureSessionCookie, sessionCookie } from '../access/session-cookie.ts';
import { exchangeSignInLink, findSignInLinks } from '../access/store/sessions.ts';
import { batchLoader } from '../database/batch-loader.ts';
import type { Database } from '../database/database.ts';
import { isSameOrigin } from '../wire/authentication.ts';
import type { Addresses } from '../wire/base-url.ts';
import { type Exchange, type Route, send } from '../wire/exchange.ts';
import type { Request, Response } from '../wire/request.ts';

const sessionMs = 30 * 24 * 3_600_000;
/** A form with one token has some 60. */
const formBytes = 1024;

interface SignInDeps {
  db: Database;
  clock: Clock;
  authenticator: Authenticator;
  failedSignIns: FailedSignIns;
  addresses: Addresses;
}

/**
 * GET /sign-in?token=…: a page with the name of the user and a button. It does not use the link up, because programs
 * open links, too. POST, from this page only: the link works once, sets the session's cookie and leads to the web app.
 */
export function signInRoutes(deps: SignInDeps): Route[] {
  // A flood of tokens takes one connection to the database, and one statement for many of them.
  const userOf = batchLoader((tokens: readonly string[]) => findSignInLinks(deps.db, tokens));
  return [
    {
      methods: ['GET'],
      path: /^\/sign-in$/,
      async answer({ request, response, url }) {
        const token = url.searchParams.get('token') ?? '';
        const userName = isSecret(token) ? await userOf(token) : undefined;
        if (userName === undefined) return refuse(deps, request, response);
        const { host } = request.headers;
        sendPage(response, 200, askPage({ userName, host: host ?? '', token }));
      },
    },
    {
      methods: ['POST'],
      path: /^\/sign-in$/,
      answer: (exchange) => signIn(deps, exchange),
    },
  ];
}

async function signIn(deps: SignInDeps, exchange: Exchange): Promise<void> {
  const { db, clock, addresses } = deps;
  const { request, response } = exchange;
  // A page of another site must not sign a user in as another user.
  if (!isFromThisSite(request))
    throw new PlatformError('PERMISSION_DENIED', { resource: 'signing in from a page of another site' });
  const session = await exchangeSignInLink(db, new URLSearchParams(await textOf(exchange.body())).get('token') ?? '', {
    expiresOn: clock.wall() + sessionMs,
    now: clock.wall(),
    address: addresses.clientOf(request),
  });
  if (session === undefined) return refuse(deps, request, response);
  const rest = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${sessionMs / 1000}`;
  const cookie = addresses.cameBy(request).isSecure
    ? `${secureSessionCookie}=${session}; ${rest}; Secure`
    : `${sessionCookie}=${session}; ${rest}`;
  send(response, 303, { ...home, 'set-cookie': cookie });
}

const home = { location: '/', 'cache-control': 'no-store', 'content-length': 0 };

/** @throws PlatformError SIGN_IN_LINK_INVALID, for a client that shows no pages */
async function refuse({ authenticator, failedSignIns }: SignInDeps, request: Request, response: Response) {
  // A user who is already signed in may open a used link again, or press the button twice.
  const cookies = request.headers.cookie;
  if (cookies !== undefined && (await authenticator.session(cookies))) return send(response, 303, home);
  failedSignIns.note({ orgId: null, subject: 'unknown link', credentials: 'sign-in link' });
  if (!String(request.headers.accept ?? '').includes('text/html')) throw new PlatformError('SIGN_IN_LINK_INVALID');
  sendPage(response, 401, unusablePage());
}

/** Browsers name the origin of each form that they send. */
const isFromThisSite = ({ headers }: Request): boolean =>
  isSameOrigin(headers.origin, headers.host) && headers['sec-fetch-site'] !== 'cross-site';

function sendPage(response: Response, status: number, html: string): void {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(html),
    'content-security-policy': signInPolicy,
    'cache-control': 'no-store',
  };
  send(response, status, headers, html);
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > formBytes)
      throw new PlatformError('INVALID_ARGUMENT', { field: 'body', limit: `at most ${formBytes} bytes` });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('latin1');
}

// The two pages of the sign-in link. They need no script and no file of the web app.

/** Nothing is loaded; the form goes to this server. */
const signInPolicy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0) ?? 0};`);

const style = `:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--line:#d9dde3;--text:#1a1d21;--soft:#5b636e;--accent:#1f5fd0;--on-accent:#fff}
@media (prefers-color-scheme:dark){:root{--page:#14161a;--card:#1c1f24;--line:#343a43;--text:#e8eaed;--soft:#a3abb6;--accent:#7aa7ff;--on-accent:#0d1117}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:16px;background:var(--page);color:var(--text);font:16px/1.5 system-ui,sans-serif}
main{width:100%;max-width:420px;padding:24px;background:var(--card);border:1px solid var(--line);border-radius:10px}
h1{margin:0 0 8px;font-size:20px}
p{margin:0 0 16px;color:var(--soft)}
b{color:var(--text);overflow-wrap:anywhere}
button{width:100%;padding:10px 16px;border:0;border-radius:8px;background:var(--accent);color:var(--on-accent);font:inherit;font-weight:600;cursor:pointer}
button:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
code{display:block;padding:10px 12px;border:1px solid var(--line);border-radius:8px;color:var(--text);font:14px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}`;

const page = (title: string, body: string): string =>
  `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} – Platform</title><style>${style}</style></head>
<body><main>
<h1>${title}</h1>
${body}
</main></body>
</html>
`;

/** Asks whether to sign in as this user. A link that a program opens, or that another user sent, starts no session. */
const askPage = (of: { userName: string; host: string; token: string }): string =>
  page(
    'Sign in',
    `<p>You sign in to <b>${escaped(of.host)}</b> as <b>${escaped(of.userName)}</b>. Continue only if you asked for this link.</p>
<form method="post" action="/sign-in"><input type="hidden" name="token" value="${escaped(of.token)}"><button>Sign in</button></form>`,
  );

const unusablePage = (): string =>
  page(
    'This link does not work',
    `<p>It was used before, or it has expired: each link works once. In the folder of the server, make a new one:</p>
<code>npm run -s platform -- sign-in</code>`,
  );
