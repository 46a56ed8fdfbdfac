import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { type FleetService, InstallStepKind } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { installScriptCommand } from '@platform/contract/provisioning/install-command';
import { callerOf } from '../access/caller.ts';
import { audited } from '../access/store/audited.ts';
import { makerOf } from '../access/store/makers.ts';
import { ownedPart } from '../machines/part-access.ts';
import { type Installation, readInstallation, replaceInstallKey } from '../machines/store/install-keys.ts';
import { authoritySha256 } from '../tls/authority.ts';
import { baseUrlOf } from '../wire/base-url.ts';
import type { FleetDeps } from './fleet-deps.ts';
import { urlProblems } from './rules/set-up-problems.ts';

const keyLifeMs = 24 * 3_600_000;

const kinds: Readonly<Record<Installation['steps'][number]['kind'], InstallStepKind>> = {
  started: InstallStepKind.STARTED,
  downloaded: InstallStepKind.DOWNLOADED,
  verified: InstallStepKind.VERIFIED,
  installed: InstallStepKind.INSTALLED,
  failed: InstallStepKind.FAILED,
  refused: InstallStepKind.REFUSED,
};

/** Calls about one-time keys of install commands. */
export const installationHandlers = (deps: FleetDeps) => {
  const { db, clock } = deps;
  return {
    async createInstallKey({ partId }, context) {
      const caller = callerOf(context);
      const part = await ownedPart(db, caller, partId);
      const serverUrl = baseUrlOf(deps, context);
      const expiresOn = clock.wall() + keyLifeMs;
      const { id, key } = await audited(deps, caller, async (trx, record) => {
        await record({ orgId: part.orgId, action: 'create install key', subject: part.id });
        return replaceInstallKey(trx, { partId: part.id, orgId: part.orgId, expiresOn, madeBy: makerOf(caller) });
      });
      const sha256 = serverUrl.startsWith('https:') ? authoritySha256(deps.authority()) : undefined;
      return {
        keyId: id,
        key,
        expiresOn: timestampFromMs(expiresOn),
        serverUrl,
        installScriptCommand: installScriptCommand(serverUrl, sha256),
        authoritySha256: sha256 ?? '',
      };
    },
    async getInstallation({ partId }, context) {
      const part = await ownedPart(db, callerOf(context), partId);
      const found = await readInstallation(db, part.id);
      const serverProblems = [...urlProblems(baseUrlOf(deps, context)), ...deps.certificateProblems()];
      if (!found) return { serverProblems };
      return {
        createdOn: timestampFromMs(found.createdOn),
        expiresOn: timestampFromMs(found.expiresOn),
        ...(found.usedOn !== null && { usedOn: timestampFromMs(found.usedOn) }),
        ...(found.reportedOn !== null && { reportedOn: timestampFromMs(found.reportedOn) }),
        steps: found.steps.map(({ kind, time, detail, address }) => ({
          kind: kinds[kind],
          time: timestampFromMs(time),
          detail,
          address,
        })),
        serverProblems,
      };
    },
  } satisfies Partial<ServiceImpl<typeof FleetService>>;
};
