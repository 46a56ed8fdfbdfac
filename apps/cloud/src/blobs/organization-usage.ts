import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import { refreshed } from '../database/refreshed.ts';
import { hasRoom } from './rules/organization-room.ts';
import type { Database } from '../database/database.ts';
import { type StoredRows, storedRows } from './store/organization-rows.ts';
import { type StoredBytes, storedBytes } from './store/owned-blobs.ts';

/** Bytes in transfer to an organization. They count until `Symbol.dispose`; after `keep`, they continue to count. */
export type Admission = Disposable & {
  /** @throws PlatformError ORGANIZATION_FULL */
  take(bytes: number): Promise<void>;
  /** Takes each chunk before passing it on. @throws PlatformError ORGANIZATION_FULL */
  counted(from: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** A row references the taken bytes now. */
  keep(): void;
};

export type Usage = StoredBytes & StoredRows & { arrivingBytes: number; limitBytes: number };

/** Storage of organizations, counted in this process: only one server uses a database. */
export type OrganizationUsage = {
  read(orgId: string): Promise<Usage>;
  /**
   * Reserves room for an upload to these organizations.
   *
   * @param announced - announced bytes; further bytes are taken as they arrive.
   * @throws PlatformError ORGANIZATION_FULL
   */
  admit(orgIds: readonly string[], announced?: number): Promise<Admission>;
};

type Known = StoredBytes & { at: number };

/** Cached usage of one organization. */
type Account = {
  orgId: string;
  arriving: number;
  /**
   * Bytes kept since the last measurement began, so that none is missed. Some may be counted twice until the next
   * measurement.
   */
  kept: number;
  known: Known | undefined;
  readBytes: () => Promise<Known>;
  readRows: () => Promise<StoredRows>;
};

/**
 * Age at which a measurement expires. Bytes that no upload counted, such as a public script that a job uses, appear
 * after this time.
 */
const trustedMs = 60_000;

type UsageDeps = { db: Database; clock: Clock; stop: AbortSignal };

function openAccount({ db, clock, stop }: UsageDeps, orgId: string): Account {
  const readBytes = async (): Promise<Known> => {
    const before = account.kept;
    const at = clock.now();
    const known = { ...(await storedBytes(db, orgId)), at };
    account.kept -= before;
    account.known = known;
    return known;
  };
  const account: Account = {
    orgId,
    arriving: 0,
    kept: 0,
    known: undefined,
    readBytes: refreshed(readBytes, clock, stop),
    readRows: refreshed(() => storedRows(db, orgId), clock, stop),
  };
  return account;
}

/** Takes bytes from an account's room. @throws PlatformError ORGANIZATION_FULL */
type Take = (account: Account, bytes: number) => Promise<void>;

/** Bytes that one upload takes from the accounts. */
function openAdmission(accounts: readonly Account[], takeFrom: Take) {
  const taken = accounts.map((account) => ({ account, bytes: 0 }));
  const passed = { bytes: 0, reserved: 0 };
  const reserve = async (bytes: number): Promise<void> => {
    for (const one of taken) {
      await takeFrom(one.account, bytes);
      one.bytes += bytes;
    }
    passed.reserved += bytes;
  };
  const release = (): void => {
    for (const one of taken) {
      one.account.arriving -= one.bytes;
      one.bytes = 0;
    }
  };
  const take = async (bytes: number): Promise<void> => {
    passed.bytes += bytes;
    if (passed.bytes > passed.reserved) await reserve(passed.bytes - passed.reserved);
  };
  return {
    reserve,
    take,
    async *counted(from: AsyncIterable<Uint8Array>) {
      for await (const chunk of from) {
        await take(chunk.length);
        yield chunk;
      }
    },
    keep() {
      for (const { account } of taken) account.kept += passed.bytes;
      release();
    },
    [Symbol.dispose]: release,
  };
}

export function organizationUsage(deps: UsageDeps, limitBytes: number): OrganizationUsage {
  const { clock } = deps;
  const accounts = new Map<string, Account>();
  const accountOf = (orgId: string): Account => {
    const account = accounts.get(orgId) ?? openAccount(deps, orgId);
    accounts.set(orgId, account);
    return account;
  };

  const fits = ({ known, kept, arriving }: Account, bytes: number): boolean =>
    known !== undefined &&
    clock.now() - known.at < trustedMs &&
    hasRoom({ used: known.usedBytes + kept, waiting: known.waitingBytes, arriving }, bytes, limitBytes);

  /** Checks and takes without an `await` in between, so that concurrent uploads cannot exceed the limit. */
  const takeFrom: Take = async (account, bytes) => {
    if (limitBytes > 0 && !fits(account, bytes)) {
      await account.readBytes();
      if (!fits(account, bytes)) throw full(account, bytes, limitBytes);
    }
    account.arriving += bytes;
  };

  return {
    async read(orgId) {
      const account = accountOf(orgId);
      const [bytes, rows] = await Promise.all([account.readBytes(), account.readRows()]);
      const { usedBytes, files, waitingBytes } = bytes;
      return { usedBytes, files, waitingBytes, ...rows, arrivingBytes: account.arriving, limitBytes };
    },
    async admit(orgIds, announced = 0) {
      const admission = openAdmission(orgIds.map(accountOf), takeFrom);
      try {
        await admission.reserve(announced);
      } catch (error) {
        admission[Symbol.dispose]();
        throw error;
      }
      return admission;
    },
  };
}

const full = ({ orgId, known, kept, arriving }: Account, sizeBytes: number, limitBytes: number): PlatformError =>
  new PlatformError('ORGANIZATION_FULL', {
    organizationId: orgId,
    sizeBytes,
    usedBytes: (known?.usedBytes ?? 0) + kept,
    limitBytes,
    ...(arriving > 0 && { arrivingBytes: arriving }),
    ...(known && known.waitingBytes > 0 && { waitingBytes: known.waitingBytes }),
  });
