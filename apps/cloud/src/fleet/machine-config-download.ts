import { PlatformError } from '@platform/contract/errors';
import type { Secrets } from '../access/secrets.ts';
import type { Database } from '../database/database.ts';
import { ownedPart } from '../machines/part-access.ts';
import { credentialsFile } from '../machines/rules/addresses.ts';
import { readPartSecrets } from '../machines/store/machines.ts';
import { authorityPem } from '../tls/authority.ts';
import type { Authority } from '../tls/authority.ts';
import { baseUrlFor } from '../wire/base-url.ts';
import type { Addresses } from '../wire/base-url.ts';
import { type Route, send } from '../wire/exchange.ts';

/**
 * GET /api/json1/config?client=true&id=<part id>, with headers key_id and key: the credentials file, for the installer.
 */
export const machineConfigRoutes = (deps: {
  db: Database;
  secrets: Secrets;
  addresses: Addresses;
  authority: () => Authority;
}): Route[] => [
  {
    methods: ['GET', 'HEAD'],
    path: /^\/api\/json1\/config$/,
    async answer({ request, response, url, caller }) {
      const part = await ownedPart(deps.db, await caller(), url.searchParams.get('id') ?? '');
      const [newest] = await readPartSecrets(deps.db, part.id, deps.secrets.sealingKey);
      if (!newest) throw new PlatformError('PART_NOT_FOUND', { partId: part.id });
      const text = credentialsFile(
        baseUrlFor(deps, request),
        { id: part.id, secret: newest.secret },
        authorityPem(deps.authority()),
      );
      send(
        response,
        200,
        { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), 'cache-control': 'no-store' },
        text,
      );
    },
  },
];
