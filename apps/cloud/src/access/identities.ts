import { LRUCache } from 'lru-cache';
import type { Clock } from '@platform/kit';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import { batchLoader } from '../database/batch-loader.ts';
import { isUuid } from '@platform/contract/text/names';
import type { Caller, ScriptCaller } from './rules/permissions.ts';
import { findKey, grantsOf } from './store/keys.ts';
import { type PartIdentity, readPartIdentities } from './store/part-identities.ts';
import { findSession } from './store/sessions.ts';

/** A known identity with the hashes of its secrets; a session has none. */
export type Identity = { caller: Caller; proofs: ReadonlyMap<string, Buffer>; expiresOn?: number };

type FindScript = (keyId: string) => Promise<{ caller: ScriptCaller; keyHash: Buffer } | undefined>;

type IdentityDeps = { db: Database; changes: Changes; clock: Clock; scriptOf: FindScript };

/** Identities by ID, cached until a change notification invalidates them. */
export type Identities = {
  apiKey(id: string): Promise<Identity | undefined>;
  part(id: string): Promise<Identity | undefined>;
  session(tokenHash: Buffer): Promise<Identity | undefined>;
  /** Reads only the cache, for the fast path. */
  known(kind: 'api_key' | 'part', id: string): Identity | undefined;
};

/** @param scriptOf - finds the script that has this key, while its attempt runs. */
export function identities({ db, changes, clock, scriptOf }: IdentityDeps): Identities {
  const cache = new LRUCache<string, Identity>({ max: 100_000 });
  const epoch = { count: 0 };
  // After a restart of the server, every machine signs in at once.
  const partOf = batchLoader((ids: readonly string[]) => readPartIdentities(db, ids));
  changes.subscribe((kind, key) => {
    epoch.count++;
    if (kind === undefined || kind === 'person') cache.clear();
    else if (kind === 'api_key' || kind === 'part' || kind === 'session') cache.delete(`${kind} ${key}`);
  });
  /** Does not cache a value if something changed while it was read. */
  const cached = async (name: string, load: () => Promise<Identity | undefined>): Promise<Identity | undefined> => {
    const found = cache.get(name);
    if (found) return found;
    const before = epoch.count;
    const loaded = await load();
    if (loaded && epoch.count === before) cache.set(name, loaded);
    return loaded;
  };
  return {
    known: (kind, id) => cache.get(`${kind} ${id}`),
    async apiKey(id) {
      if (!isUuid(id)) return undefined;
      const known = await cached(`api_key ${id.toLowerCase()}`, () => readKey(db, id));
      // Not cached: the key ends with the attempt of its job, at any moment.
      return known ?? readScriptKey(scriptOf, id);
    },
    async part(id) {
      if (!isUuid(id)) return undefined;
      return cached(`part ${id.toLowerCase()}`, async () => {
        const part = await partOf(id.toLowerCase());
        return part && partIdentity(part);
      });
    },
    async session(tokenHash) {
      const name = `session ${tokenHash.toString('hex')}`;
      const found = await cached(name, () => readSession(db, tokenHash, clock.wall()));
      return found?.expiresOn !== undefined && found.expiresOn > clock.wall() ? found : undefined;
    },
  };
}

async function readKey(db: Database, id: string): Promise<Identity | undefined> {
  const key = await findKey(db, id);
  if (!key) return undefined;
  const grants = await grantsOf(db, 'api_key', key.id);
  return {
    caller: { kind: 'api_key', id: key.id, name: key.name, grants },
    proofs: new Map([[proofOf(key.keyHash), key.keyHash]]),
  };
}

async function readScriptKey(scriptOf: FindScript, id: string): Promise<Identity | undefined> {
  const found = await scriptOf(id);
  return found && { caller: found.caller, proofs: new Map([[proofOf(found.keyHash), found.keyHash]]) };
}

function partIdentity({ id, machineName, orgId, machineId, locationId, secretHashes }: PartIdentity): Identity {
  return {
    caller: { kind: 'part', id, name: machineName, orgId, machineId, locationId, grants: [] },
    proofs: new Map(secretHashes.map((secretHash) => [proofOf(secretHash), secretHash])),
  };
}

async function readSession(db: Database, tokenHash: Buffer, now: number): Promise<Identity | undefined> {
  const row = await findSession(db, tokenHash, now);
  if (!row) return undefined;
  const grants = await grantsOf(db, 'person', row.id);
  return {
    caller: {
      kind: 'person',
      id: row.id,
      name: row.name,
      grants,
      byKeyId: row.byKeyId ?? undefined,
      signedInOn: row.signedInOn,
    },
    proofs: new Map(),
    expiresOn: row.expiresOn,
  };
}

/** Identifies a secret in a token without revealing it: the start of its hash. */
export const proofOf = (secretHash: Buffer): string => secretHash.toString('base64url').slice(0, 16);
