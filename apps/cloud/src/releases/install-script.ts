import { platformSegment } from '@platform/contract/releases/target-path';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import { rolesOf } from '@platform/releases/documents';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import { authorityPem, type Authority } from '../tls/authority.ts';
import { baseUrlFor, type Addresses } from '../wire/base-url.ts';
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

type Published = Pick<InstallerValues, 'releaseKey' | 'trustedRoot' | 'channels' | 'agents'> & { template: string };

async function readPublished(db: Database): Promise<Published> {
  const channels: Record<string, string> = {};
  for (const channel of ['stable', 'dev']) {
    const version = await findChannel(db, 'platform-agent', channel);
    if (version !== undefined) channels[channel] = version;
  }
  const agents = (await listReleases(db, 'platform-agent')).filter(
    ({ version, target }) => target !== null && Object.values(channels).includes(version),
  );
  const root = await newestDocument(db, 'root');
  return {
    template: await readFile(file, 'utf8'),
    releaseKey: root ? rolesOf(root.bytes).installerKey : '',
    trustedRoot: root && { version: root.version, sha256: createHash('sha256').update(root.bytes).digest('hex') },
    channels,
    agents: agents.map(({ version, platform, sha256 }) => ({
      version,
      platform: platformSegment(platform),
      sha256: sha256.toString('hex'),
    })),
  };
}

/** Scripts in memory. Without --public-url, a script contains the host of its request, which the client invents. */
const mostScripts = 64;

type ScriptValues = Pick<InstallerValues, 'url' | 'authority' | 'action'> & { isSecure: boolean };

/** The scripts, rendered once until a release or document is published. */
export class InstallScripts {
  readonly #db: Database;
  readonly #scripts = new LRUCache<string, string>({ max: mostScripts });
  #published: Promise<Published> | undefined;

  constructor(db: Database, changes: Pick<Changes, 'subscribe'>) {
    this.#db = db;
    changes.subscribe((kind) => {
      if (kind !== undefined && kind !== 'release') return;
      this.#published = undefined;
      this.#scripts.clear();
    });
  }

  async render({ isSecure, ...values }: ScriptValues): Promise<string> {
    const key = JSON.stringify([isSecure, values.url, values.action, values.authority]);
    const found = this.#scripts.get(key);
    if (found !== undefined) return found;
    const reading = this.#read();
    const { template, ...published } = await reading;
    // The URL may be https although the script was requested by plain http, where an attacker can change it.
    const agents = isSecure ? published.agents : [];
    const text = renderInstaller(template, { ...published, ...values, agents });
    // Published since: the next request reads again.
    if (this.#published === reading) this.#scripts.set(key, text);
    return text;
  }

  #read(): Promise<Published> {
    if (this.#published) return this.#published;
    const reading = readPublished(this.#db);
    this.#published = reading;
    reading.catch(() => {
      if (this.#published === reading) this.#published = undefined;
    });
    return reading;
  }
}

/** GET /install.sh and /uninstall.sh: public. Secrets come from the machine's environment. */
export const installRoutes = (deps: {
  installScripts: Pick<InstallScripts, 'render'>;
  addresses: Addresses;
  authority: () => Authority;
}): Route[] =>
  (['install', 'uninstall'] as const).map((action) => ({
    methods: ['GET', 'HEAD'],
    path: new RegExp(`^/${action}\\.sh$`),
    async answer({ request, response }) {
      const text = await deps.installScripts.render({
        url: baseUrlFor(deps, request),
        isSecure: deps.addresses.cameBy(request).isSecure,
        authority: authorityPem(deps.authority()) ?? '',
        action,
      });
      sendText(response, 200, text, {
        'content-type': 'text/x-shellscript; charset=utf-8',
        'cache-control': 'no-store',
      });
    },
  }));
