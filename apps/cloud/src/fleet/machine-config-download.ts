import { PlatformError } from '@platform/contract/errors/errors';
import type { Secrets } from '../access/secrets.ts';
import type { Database } from '../database/database.ts';
import type { InstallKeys } from './install-keys.ts';
import { ownedPart } from '../machines/part-access.ts';
import { credentialsFile } from '../machines/rules/addresses.ts';
import { readPartSecrets } from '../machines/store/machines.ts';
import { authorityPem, type Authority } from '../tls/authority.ts';
import { baseUrlFor, type Addresses } from '../wire/base-url.ts';
import { type Route, send } from '../wire/exchange.ts';

/**
 * GET /api/json1/config?client=true&id=<part id>, with headers key_id and key, of an API key or a one-time key: the
 * credentials file, for the installer.
 */
export const machineConfigRoutes = (deps: {
  db: Database;
  secrets: Secrets;
  addresses: Addresses;
  authority: () => Authority;
  installKeys: Pick<InstallKeys, 'redeem'>;
}): Route[] => [
  {
    methods: ['GET', 'HEAD'],
    path: /^\/api\/json1\/config$/,
    async answer(exchange) {
      const { request, response, url, caller } = exchange;
      const asked = url.searchParams.get('id') ?? '';
      const installed = await deps.installKeys.redeem(exchange, asked);
      const partId = installed?.partId ?? (await ownedPart(deps.db, await caller(), asked)).id;
      const [newest] = await readPartSecrets(deps.db, partId, deps.secrets.sealingKey);
      if (!newest) throw new PlatformError('PART_NOT_FOUND', { partId });
      const text = credentialsFile(
        baseUrlFor(deps, request),
        { id: partId, secret: newest.secret },
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
