import type { Clock } from '@platform/kit';
import type { Secrets } from '../access/secrets.ts';
import type { OrganizationUsage } from '../blobs/organization-usage.ts';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import type { Presence } from '../machines/presence.ts';
import type { ReleaseCache } from '../releases/release-cache.ts';
import type { Authority } from '../tls/authority.ts';
import type { Addresses } from '../wire/base-url.ts';
import type { UnknownCodes } from './unknown-codes.ts';

/** What the calls of FleetService need. */
export type FleetDeps = {
  db: Database;
  changes: Changes;
  secrets: Secrets;
  releases: ReleaseCache;
  usage: OrganizationUsage;
  authority: () => Authority;
  addresses: Addresses;
  presence: Presence;
  unknownCodes: UnknownCodes;
  /** Problems of the current certificate, as sentences. */
  certificateProblems: () => readonly string[];
  /** The newest revision with a content; 0: none. Combines simultaneous calls. */
  revisionOfContent: (content: { partId: string; sha256: Uint8Array }) => Promise<number>;
  clock: Clock;
};
