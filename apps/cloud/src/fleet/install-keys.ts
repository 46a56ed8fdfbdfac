import { PlatformError } from '@platform/contract/errors/errors';
import {
  installerHeader,
  installerText,
  installStepsPath,
  isInstallKey,
  isReportedStep,
  keyHeader,
  keyIdHeader,
  reportedSteps,
} from '@platform/contract/provisioning/install-key';
import { isUuid } from '@platform/contract/text/names';
import { fragmentHeader } from '@platform/contract/provisioning/set-up-code';
import type { Log } from '@platform/kit';
import { audit } from '../access/store/audit.ts';
import {
  findRefusedKey,
  installerOf,
  type PresentedKey,
  redeemInstallKey,
  saveInstallStep,
} from '../machines/store/install-keys.ts';
import { networksOf } from '../wire/addresses.ts';
import { type Exchange, type Route, send } from '../wire/exchange.ts';
import type { Request } from '../wire/request.ts';
import { startWithFragment } from './named-fragment.ts';
import { SetUpAttempts } from './set-up-attempts.ts';
import type { FleetDeps } from './fleet-deps.ts';

/** What installers do with a one-time key. */
export type InstallKeys = {
  /**
   * Uses the key of a request for the part that it names. @returns undefined: the request presents no one-time key.
   *
   * @throws PlatformError INSTALL_KEY_INVALID, INSTALL_KEYS_LIMITED
   */
  redeem(exchange: Pick<Exchange, 'request' | 'prove'>, partId: string): Promise<{ partId: string } | undefined>;
  routes: Route[];
};

const header = (request: Request, name: string): string => String(request.headers[name] ?? '').trim();

type Deps = Pick<FleetDeps, 'db' | 'changes' | 'releases' | 'secrets' | 'addresses' | 'clock'> & { log: Log };

type Admitted = <T>(
  request: Request,
  find: (presented: PresentedKey, address: string) => Promise<T | undefined>,
) => Promise<T>;

/** Looks keys up; wrong ones count against the limits, and each gets the same answer. */
function keyGate({ db, addresses, clock, log }: Deps): Admitted {
  const attempts = new SetUpAttempts(clock, 'INSTALL_KEYS_LIMITED');
  const noteRefused = async (of: Pick<PresentedKey, 'id' | 'key'>, address: string): Promise<void> => {
    const found = await findRefusedKey(db, of);
    if (found)
      await saveInstallStep(db, { ...found, keyId: of.id, kind: 'refused', now: clock.wall(), detail: '', address });
  };
  return async (request, find) => {
    const networks = networksOf(addresses.clientOf(request));
    const [address = ''] = networks;
    const [id, key] = [header(request, keyIdHeader), header(request, keyHeader)];
    // A malformed key costs no look-up and reveals nothing, so it is not limited.
    if (!isInstallKey(key) || !isUuid(id)) throw new PlatformError('INSTALL_KEY_INVALID');
    const attempt = attempts.begin(id, networks);
    const found = await find({ id, key, installer: header(request, installerHeader), now: clock.wall() }, address);
    if (found === undefined) {
      void noteRefused({ id, key }, address).catch((error: unknown) =>
        log.warn('an attempt to use a one-time key is not stored', { error }),
      );
      throw new PlatformError('INSTALL_KEY_INVALID');
    }
    attempt.payBack();
    return found;
  };
}

/** @param deps - `db`: the one for callers that have proved nothing. */
export function installKeys(deps: Deps): InstallKeys {
  const { db, clock } = deps;
  const admitted = keyGate(deps);
  return {
    async redeem({ request, prove }, partId) {
      if (!isInstallKey(header(request, keyHeader)) || request.method !== 'GET') return undefined;
      return admitted(request, async (presented, address) => {
        const found = await redeemInstallKey(db, withInstaller(presented), partId);
        if (!found) return undefined;
        prove(found.partId);
        const named = header(request, fragmentHeader);
        const { fragmentId, fragmentProblem: problem } = await startWithFragment(deps, partId, { ...found, named });
        if (found.isFirst)
          await audit(db, {
            orgId: found.orgId,
            actor: `computer at ${address}`,
            action: 'use install key',
            subject: found.partId,
            ...(fragmentId !== '' && { details: { fragment: fragmentId, ...(problem !== '' && { problem }) } }),
          });
        return found;
      });
    },
    routes: [
      {
        methods: ['POST'],
        path: new RegExp(`^${installStepsPath}$`),
        async answer({ request, response, url, prove, drain }) {
          drain();
          const kind = url.searchParams.get('step') ?? '';
          if (!isReportedStep(kind)) {
            const limit = reportedSteps.join(', ');
            throw new PlatformError('INVALID_ARGUMENT', { field: 'step', value: kind.slice(0, 40), limit });
          }
          if (!installerText.test(header(request, installerHeader))) throw new PlatformError('INSTALL_KEY_INVALID');
          await admitted(request, async (presented, address) => {
            const found = await installerOf(db, presented);
            if (!found) return undefined;
            prove(found.partId);
            const detail = url.searchParams.get('detail') ?? '';
            await saveInstallStep(db, { ...found, keyId: presented.id, kind, now: clock.wall(), detail, address });
            return found;
          });
          send(response, 204, { 'cache-control': 'no-store' });
        },
      },
    ],
  };
}

/** An agent that names no installer cannot repeat its request. */
const withInstaller = (presented: PresentedKey): PresentedKey =>
  installerText.test(presented.installer) ? presented : { ...presented, installer: '' };
