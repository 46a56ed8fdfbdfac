import { PlatformError } from '@platform/contract/errors/errors';
import {
  agentVersionHeader,
  codeHeader,
  deviceHeader,
  deviceText,
  fragmentHeader,
  readSetUpCode,
  redeemPath,
} from '@platform/contract/provisioning/set-up-code';
import type { Log } from '@platform/kit';
import { audit } from '../access/store/audit.ts';
import { endSplit } from '../machines/store/machine-splits.ts';
import { findRefused, noteSetUpAttempt, type RedeemedCode, redeemSetUpCode } from '../machines/store/set-up-codes.ts';
import { networksOf } from '../wire/addresses.ts';
import { baseUrlFor } from '../wire/base-url.ts';
import { type Exchange, type Route, send } from '../wire/exchange.ts';
import type { Request } from '../wire/request.ts';
import { credentialsOf } from './machine-credentials.ts';
import { noFragment, startWithFragment } from './named-fragment.ts';
import { SetUpAttempts } from './set-up-attempts.ts';
import type { FleetDeps } from './fleet-deps.ts';

/** What an agent sends as its version; empty: it sends none, or not one. */
const versionOf = (text: string): string => (/^[\w.+-]{1,40}$/.test(text) ? text : '');

const header = (request: Request, name: string): string => String(request.headers[name] ?? '');

type Deps = Pick<
  FleetDeps,
  'db' | 'changes' | 'releases' | 'secrets' | 'addresses' | 'authority' | 'unknownCodes' | 'clock'
> & { log: Log };

/** Notes that a device redeemed a code, and starts its machine with the fragment that the device names. */
async function noteRedeemed(
  deps: Deps,
  { partId, orgId, isFirst, madeBy }: RedeemedCode,
  { named, ...by }: { named: string; now: number; address: string; agentVersion: string },
): Promise<void> {
  const result = isFirst ? 'redeemed' : 'repeated';
  const fragment = await startWithFragment(deps, partId, { named, madeBy, isFirst });
  await noteSetUpAttempt(deps.db, { partId, orgId, result, ...by, ...fragment });
  if (!isFirst) return;
  await endSplit(deps.db, partId);
  const actor = `device at ${by.address}`;
  await audit(deps.db, { orgId, actor, action: 'redeem set-up code', subject: partId });
}

/**
 * POST /api/set-up-codes/redeem with a set-up code: the credentials file of its machine. It needs no sign-in. A wrong, an
 * expired and a used code get the same answer.
 */
export const setUpCodeRoutes = (deps: Deps): Route[] => {
  const attempts = new SetUpAttempts(deps.clock);
  const redeem = async ({ request, prove }: Pick<Exchange, 'request' | 'prove'>): Promise<string> => {
    const networks = networksOf(deps.addresses.clientOf(request));
    const [address = ''] = networks;
    const code = readSetUpCode(header(request, codeHeader));
    const device = header(request, deviceHeader);
    // A malformed code costs no look-up and reveals nothing, so it is not limited.
    if (code === undefined || !deviceText.test(device)) throw new PlatformError('SET_UP_CODE_INVALID');
    const attempt = attempts.begin(code, networks);
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
    attempt.payBack();
    prove(found.partId);
    await noteRedeemed(deps, found, { named: header(request, fragmentHeader), now, address, agentVersion });
    return (await credentialsOf(deps, found.partId, baseUrlFor(deps, request))).credentialsJson;
  };
  const noteRefused = async ({
    address,
    agentVersion,
    ...of
  }: Parameters<typeof findRefused>[1] & { address: string; agentVersion: string }): Promise<void> => {
    const found = await findRefused(deps.db, of);
    if (found) await noteSetUpAttempt(deps.db, { ...found, now: of.now, address, agentVersion, ...noFragment });
    else deps.unknownCodes.note(address, of.now);
  };
  return [
    {
      methods: ['POST'],
      path: new RegExp(`^${redeemPath}$`),
      async answer(exchange) {
        exchange.drain();
        const text = await redeem(exchange);
        const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
        send(exchange.response, 200, { ...headers, 'cache-control': 'no-store' }, text);
      },
    },
  ];
};
