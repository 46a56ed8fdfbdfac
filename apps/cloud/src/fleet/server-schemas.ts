import { createHash } from 'node:crypto';
import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import type { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import platformServerSchemas from '@platform/contract/gen/server-schemas.json' with { type: 'json' };
import { readServerSchemas } from '@platform/contract/machine-server/schemas';
import { callerOf } from '../access/caller.ts';
import { findConfig } from '../configs/store/configs.ts';
import { problemMessage } from '../configs/config-saving.ts';
import { operatedPart, ownPart } from '../machines/part-access.ts';
import { hasOtherAgent, machineFacts } from '../machines/rules/machine-facts.ts';
import { findServerSchemas, insertServerSchemas, touchServerSchemas } from '../machines/store/server-schemas.ts';
import type { JsonObject } from '../database/schema.ts';
import { desiredProgramsOf } from '../releases/rules/desired-programs.ts';
import { version } from '../version.ts';
import type { FleetDeps } from './fleet-deps.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const assumed = {
  schemasJson: JSON.stringify(platformServerSchemas),
  sha256: createHash('sha256').update(JSON.stringify(platformServerSchemas)).digest('hex'),
  assumedServer: `platform-server ${version}`,
};

/** A machine that has not reported runs platform-server, unless its configuration names a program file of its owner. */
const assumedSchemas = (config: JsonObject) =>
  desiredProgramsOf(config).some(({ program, desired }) => program === 'platform-server' && desired.is === 'file')
    ? {}
    : assumed;

/** The schemas of a machine server: the machine stores them once, and its report names them by their SHA-256. */
export const schemaHandlers = ({ db }: Pick<FleetDeps, 'db'>) =>
  ({
    async getServerSchemas({ partId }, context) {
      const part = await operatedPart(db, callerOf(context), partId);
      if (part.report === null && !hasOtherAgent(part))
        return assumedSchemas((await findConfig(db, part.id))?.config ?? {});
      const sha256 = machineFacts(part).knowledge?.schemasSha256;
      if (sha256 === undefined) return {};
      const found = await findServerSchemas(db, { orgId: part.orgId, sha256: Buffer.from(sha256, 'hex') });
      return {
        sha256,
        schemasJson: found?.schemasJson ?? '',
        ...(found?.refused && { refused: refusalOf(found.refused) }),
      };
    },
    async storeServerSchemas({ partId, sha256, schemasJson }, context) {
      const part = await ownPart(db, callerOf(context), partId);
      const { orgId } = part;
      if (!/^[0-9a-f]{64}$/.test(sha256)) throw notHash(sha256);
      const key = { orgId, sha256: Buffer.from(sha256, 'hex') };
      if (schemasJson === '') {
        const known = await touchServerSchemas(db, key);
        if (known?.refused) throw refusal(known.refused);
        return { stored: known !== undefined };
      }
      if (!createHash('sha256').update(schemasJson).digest().equals(key.sha256)) throw notHash(sha256);
      const read = readServerSchemas(schemasJson);
      await insertServerSchemas(
        db,
        key,
        read.ok ? { schemasJson, refused: null } : { schemasJson: null, refused: read.problem },
      );
      if (!read.ok) throw refusal(read.problem);
      return { stored: true };
    },
  }) satisfies Partial<ServiceImpl<typeof FleetService>>;

const notHash = (value: string): PlatformError =>
  invalidArgument('sha256', value.slice(0, 100), 'the SHA-256 of schemas_json, 64 hexadecimal digits');
const refusal = (problem: string): PlatformError => new PlatformError('SERVER_SCHEMAS_REFUSED', { problem });

function refusalOf(problem: string) {
  const { what, remedy } = refusal(problem);
  return problemMessage({ path: '', severity: 'warning', message: what, remedy });
}
