import { PlatformError } from '@platform/contract/errors';
import type { Clock } from '@platform/kit';
import { sessionCookie } from '../access/authenticate.ts';
import type { Authenticator } from '../access/authenticate.ts';
import type { FailedSignIns } from '../access/failed-sign-ins.ts';
import { exchangeSignInLink } from '../access/store/sessions.ts';
import type { Database } from '../database/database.ts';
import type { Addresses } from '../wire/base-url.ts';
import { type Route, send } from '../wire/exchange.ts';

const sessionMs = 30 * 24 * 3_600_000;

/** GET /sign-in?token=…: works once. Sets the session's cookie and redirects to the web app. */
export const signInRoutes = ({
  db,
  clock,
  authenticator,
  failedSignIns,
  addresses,
}: {
  db: Database;
  clock: Clock;
  authenticator: Authenticator;
  failedSignIns: FailedSignIns;
  addresses: Addresses;
}): Route[] => [
  {
    methods: ['GET'],
    path: /^\/sign-in$/,
    async answer({ request, response, url }) {
      const home = { location: '/', 'cache-control': 'no-store', 'content-length': 0 };
      const session = await exchangeSignInLink(db, url.searchParams.get('token') ?? '', {
        expiresOn: clock.wall() + sessionMs,
        address: addresses.clientOf(request),
      });
      if (session !== undefined) {
        const secure = addresses.cameBy(request).isSecure ? '; Secure' : '';
        const cookie = `${sessionCookie}=${session}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${sessionMs / 1000}${secure}`;
        return send(response, 303, { ...home, 'set-cookie': cookie });
      }
      // A user who is already signed in may open a used link again.
      const cookies = request.headers.cookie;
      if (cookies !== undefined && (await authenticator.session(cookies))) return send(response, 303, home);
      failedSignIns.note({ orgId: null, subject: 'unknown link', credentials: 'sign-in link' });
      throw new PlatformError('SIGN_IN_LINK_INVALID');
    },
  },
];
