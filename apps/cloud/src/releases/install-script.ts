import { platformSegment } from '@platform/contract/target-path';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { rolesOf } from '@platform/releases/documents';
import type { Database } from '../database/database.ts';
import { authorityPem } from '../tls/authority.ts';
import type { Authority } from '../tls/authority.ts';
import { baseUrlFor } from '../wire/base-url.ts';
import type { Addresses } from '../wire/base-url.ts';
import { type Route, sendText } from '../wire/exchange.ts';
import { type InstallerValues, renderInstaller } from './rules/installer.ts';
import { newestDocument } from './store/release-metadata.ts';
import { findChannel, listReleases } from './store/releases.ts';

const file = path.resolve(import.meta.dirname, '../../install/install.sh');

/** GET /authority.pem: the certificate that the install command verifies by its hash. */
export const authorityRoutes = ({ authority }: { authority: () => Authority }): Route[] => [
  {
    methods: ['GET', 'HEAD'],
    path: /^\/authority\.pem$/,
    async answer({ response }) {
      const pem = authorityPem(authority());
      if (pem === undefined)
        return sendText(response, 404, 'The certificate of this server needs no authority of its own.\n');
      sendText(response, 200, pem, { 'content-type': 'application/x-pem-file', 'cache-control': 'no-store' });
    },
  },
];

/** GET /install.sh and /uninstall.sh: public. Secrets come from the machine's environment. */
export const installRoutes = (deps: { db: Database; addresses: Addresses; authority: () => Authority }): Route[] =>
  (['install', 'uninstall'] as const).map((action) => ({
    methods: ['GET', 'HEAD'],
    path: new RegExp(`^/${action}\\.sh$`),
    async answer({ request, response }) {
      const url = baseUrlFor(deps, request);
      const channels: Record<string, string> = {};
      for (const channel of ['stable', 'dev']) {
        const version = await findChannel(deps.db, 'platform-agent', channel);
        if (version !== undefined) channels[channel] = version;
      }
      const agents = (await listReleases(deps.db, 'platform-agent')).filter(
        ({ version, target }) => target !== null && Object.values(channels).includes(version),
      );
      const root = await newestDocument(deps.db, 'root');
      const values: InstallerValues = {
        url,
        releaseKey: root ? rolesOf(root.bytes).installerKey : '',
        trustedRoot: root && { version: root.version, sha256: createHash('sha256').update(root.bytes).digest('hex') },
        channels,
        // The URL may be https although the script was requested by plain http, where an attacker can change it.
        agents: (deps.addresses.cameBy(request).isSecure ? agents : []).map(({ version, platform, sha256 }) => ({
          version,
          platform: platformSegment(platform),
          sha256: sha256.toString('hex'),
        })),
        authority: authorityPem(deps.authority()) ?? '',
        action,
      };
      sendText(response, 200, renderInstaller(await readFile(file, 'utf8'), values), {
        'content-type': 'text/x-shellscript; charset=utf-8',
        'cache-control': 'no-store',
      });
    },
  }));
