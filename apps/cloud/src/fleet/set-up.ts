import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { type FleetService, SetUpResult } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ssidOfHotspot } from '@platform/contract/provisioning/hotspot';
import { fingerprintLetters } from '@platform/contract/provisioning/set-up-code';
import { callerOf } from '../access/caller.ts';
import { audited } from '../access/store/audited.ts';
import { makerOf } from '../access/store/makers.ts';
import { findConfig } from '../configs/store/configs.ts';
import { ownedPart } from '../machines/part-access.ts';
import { reportOf } from '../machines/rules/machine-facts.ts';
import { readSetUp, replaceSetUpCode, type SetUpAttempt } from '../machines/store/set-up-codes.ts';
import type { PartRow } from '../machines/store/machines.ts';
import { authorityPem, authoritySha256 } from '../tls/authority.ts';
import { addressGroup } from '../wire/addresses.ts';
import { baseUrlOf, clientAddressKey } from '../wire/base-url.ts';
import type { FleetDeps } from './fleet-deps.ts';
import { urlProblems } from './rules/set-up-problems.ts';

/** A code outlives the way to a device, and not much more. */
const codeLifeMs = 24 * 3_600_000;

const results: Readonly<Record<SetUpAttempt['result'], SetUpResult>> = {
  redeemed: SetUpResult.REDEEMED,
  repeated: SetUpResult.REPEATED,
  'other device': SetUpResult.OTHER_DEVICE,
  expired: SetUpResult.EXPIRED,
  replaced: SetUpResult.REPLACED,
  similar: SetUpResult.SIMILAR,
};

/** Calls about set-up codes. */
export const setUpHandlers = (deps: FleetDeps) => {
  const { db, clock } = deps;
  return {
    async createSetUpCode({ partId }, context) {
      const caller = callerOf(context);
      const part = await ownedPart(db, caller, partId);
      const expiresOn = clock.wall() + codeLifeMs;
      const madeBy = makerOf(caller);
      const of = { partId: part.id, orgId: part.orgId, expiresOn, key: deps.secrets.sealingKey, madeBy };
      const code = await audited(deps, caller, async (trx, record) => {
        await record({ orgId: part.orgId, action: 'create set-up code', subject: part.id });
        return replaceSetUpCode(trx, of);
      });
      const serverUrl = baseUrlOf(deps, context);
      const sha256 = serverUrl.startsWith('https:') ? authoritySha256(deps.authority()) : undefined;
      return {
        code,
        expiresOn: timestampFromMs(expiresOn),
        serverUrl,
        isAuthorityOwn: authorityPem(deps.authority()) !== undefined,
        authority: sha256 === undefined ? '' : fingerprintLetters(sha256),
      };
    },
    async getSetUp({ partId }, context) {
      const part = await ownedPart(db, callerOf(context), partId);
      const { code, attempts } = await readSetUp(db, part.id);
      const unknownOn = deps.unknownCodes.lastFrom(networkOf(context), clock.wall());
      return {
        ...(code && { createdOn: timestampFromMs(code.createdOn), expiresOn: timestampFromMs(code.expiresOn) }),
        ...(code && code.redeemedOn !== null && { redeemedOn: timestampFromMs(code.redeemedOn) }),
        attempts: attempts.map(({ time, result, ...attempt }) => ({
          time: timestampFromMs(time),
          result: results[result],
          ...attempt,
        })),
        ...(unknownOn !== undefined && { unknownCodeOn: timestampFromMs(unknownOn) }),
        serverProblems: [...urlProblems(baseUrlOf(deps, context)), ...deps.certificateProblems()],
        ...(await hotspotOf(deps, part)),
      };
    },
  } satisfies Partial<ServiceImpl<typeof FleetService>>;
};

const standardPassword = resolveAgentConfig({}).config.network_configuration.hotspot_password;

const networkOf = ({ values }: HandlerContext): string => addressGroup(values.get(clientAddressKey));

/**
 * Before its first report, a device follows what its manufacturer set, which is not known here. A password of the
 * configuration is a secret; its owner reveals it.
 */
async function hotspotOf({ db }: FleetDeps, part: PartRow): Promise<{ hotspotSsid: string; hotspotPassword: string }> {
  const hostname = reportOf(part)?.hostname ?? '';
  const saved = (await findConfig(db, part.id))?.config;
  const { config } = resolveAgentConfig({ cloud: hostname === '' ? undefined : saved?.['agent'] });
  const { network_configuration: network } = config;
  return {
    hotspotSsid:
      hostname === ''
        ? ''
        : ssidOfHotspot({ ssid: network.hotspot_ssid, prefix: network.hotspot_prefix, hostname }).ssid,
    hotspotPassword: network.hotspot_password === standardPassword ? standardPassword : '',
  };
}
