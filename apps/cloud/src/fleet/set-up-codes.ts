import { PlatformError } from '@platform/contract/errors';
import {
  agentVersionHeader,
  codeHeader,
  deviceHeader,
  deviceText,
  readSetUpCode,
  redeemPath,
} from '@platform/contract/set-up-code';
import type { Clock, Log } from '@platform/kit';
import { type Rate, TokenBuckets } from '../access/rules/token-buckets.ts';
import type { Secrets } from '../access/secrets.ts';
import { audit } from '../access/store/audit.ts';
import type { Database } from '../database/database.ts';
import { endSplit } from '../machines/store/machine-splits.ts';
import { findRefused, noteSetUpAttempt, redeemSetUpCode } from '../machines/store/set-up-codes.ts';
import type { Authority } from '../tls/authority.ts';
import { addressGroup } from '../wire/addresses.ts';
import { type Addresses, baseUrlFor } from '../wire/base-url.ts';
import { type Route, send } from '../wire/exchange.ts';
import type { Request } from '../wire/request.ts';
import { credentialsOf } from './machine-credentials.ts';
import type { UnknownCodes } from './unknown-codes.ts';

/** Failed attempts. A user mistypes a few times; a wrong code is not repeated by the agent. */
const ofAddress: Rate = { perSecond: 1 / 60, burst: 10 };
/** All addresses together: 86,400 guesses a day at 78 billion codes. */
const ofAll: Rate = { perSecond: 1, burst: 60 };

/** Limits failed attempts per address and in total; a code that was redeemed costs nothing. */
function attemptLimits(clock: Pick<Clock, 'now'>) {
  const [addresses, all] = [new TokenBuckets(ofAddress), new TokenBuckets(ofAll)];
  return {
    /** Pays first, so that attempts at the same time cannot exceed the limit. @throws PlatformError TOO_MANY_REQUESTS */
    pay(address: string): void {
      const now = clock.now();
      const ms = addresses.take(address, 1, now) || all.take('', 1, now);
      if (ms > 0) throw new PlatformError('TOO_MANY_REQUESTS', { limit: 'set-up codes may be tried slowly only' });
    },
    payBack(address: string): void {
      addresses.charge(address, -1, clock.now());
      all.charge('', -1, clock.now());
    },
  };
}

/** What an agent sends as its version; empty: it sends none, or not one. */
const versionOf = (text: string): string => (/^[\w.+-]{1,40}$/.test(text) ? text : '');

const header = (request: Request, name: string): string => String(request.headers[name] ?? '');

/**
 * POST /api/set-up-codes/redeem with a set-up code: the credentials file of its machine. It needs no sign-in. A wrong, an
 * expired and a used code get the same answer.
 */
export const setUpCodeRoutes = (deps: {
  db: Database;
  secrets: Secrets;
  addresses: Addresses;
  authority: () => Authority;
  unknownCodes: UnknownCodes;
  clock: Clock;
  log: Log;
}): Route[] => {
  const limits = attemptLimits(deps.clock);
  const redeem = async (request: Request): Promise<string> => {
    const address = addressGroup(deps.addresses.clientOf(request));
    const code = readSetUpCode(header(request, codeHeader));
    const device = header(request, deviceHeader);
    // A malformed code costs no look-up and reveals nothing, so it is not limited.
    if (code === undefined || !deviceText.test(device)) throw new PlatformError('SET_UP_CODE_INVALID');
    limits.pay(address);
    const key = deps.secrets.sealingKey;
    const [now, agentVersion] = [deps.clock.wall(), versionOf(header(request, agentVersionHeader))];
    const found = await redeemSetUpCode(deps.db, { code, device, now, key });
    if (!found) {
      // The answer does not wait for it: its time would say that a code like this one exists.
      void noteRefused({ code, now, key, address, agentVersion }).catch((error: unknown) =>
        deps.log.warn('an attempt to redeem a set-up code is not stored', { error }),
      );
      throw new PlatformError('SET_UP_CODE_INVALID');
    }
    limits.payBack(address);
    const { partId, orgId, isFirst } = found;
    const result = isFirst ? 'redeemed' : 'repeated';
    await noteSetUpAttempt(deps.db, { partId, orgId, now, result, address, agentVersion });
    if (isFirst) await endSplit(deps.db, partId);
    if (isFirst)
      await audit(deps.db, { orgId, actor: `device at ${address}`, action: 'redeem set-up code', subject: partId });
    return (await credentialsOf(deps, partId, baseUrlFor(deps, request))).credentialsJson;
  };
  const noteRefused = async ({
    address,
    agentVersion,
    ...of
  }: Parameters<typeof findRefused>[1] & { address: string; agentVersion: string }): Promise<void> => {
    const found = await findRefused(deps.db, of);
    if (found) await noteSetUpAttempt(deps.db, { ...found, now: of.now, address, agentVersion });
    else deps.unknownCodes.note(address, of.now);
  };
  return [
    {
      methods: ['POST'],
      path: new RegExp(`^${redeemPath}$`),
      async answer({ request, response, drain }) {
        drain();
        const text = await redeem(request);
        const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
        send(response, 200, { ...headers, 'cache-control': 'no-store' }, text);
      },
    },
  ];
};
