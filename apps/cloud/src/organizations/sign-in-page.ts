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
import { askPage, signInPolicy, unusablePage } from './sign-in-html.ts';

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
