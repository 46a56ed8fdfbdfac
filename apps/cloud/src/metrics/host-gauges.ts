// What can fill up or expire unnoticed: disks, backups, certificates, signed documents.
import { statfs } from 'node:fs/promises';
import type { Readiness } from '../health/readiness.ts';
import { documentEnds } from '../releases/document-ends.ts';
import type { Database } from '../database/database.ts';

export type HostObserved = {
  db: Database;
  dataFolder: string;
  /** ms since 1970; undefined: no TLS. */
  certificateEnds: () => number | undefined;
  /** `last`: the newest backup, ms since 1970; undefined: there is none. `folder`: of scheduled backups. */
  backups: { last: () => Promise<number | undefined>; folder: string | undefined };
  readiness: () => Promise<Readiness>;
};

export type Sample = { labels?: Record<string, string>; value: number };
type AddGauge = (
  name: string,
  help: string,
  labelNames: string[],
  read: () => readonly Sample[] | Promise<readonly Sample[]>,
) => unknown;

export function addHostGauges(gauge: AddGauge, of: HostObserved): void {
  gauge('platform_data_disk_bytes', 'File system of the data folder; free: for this user.', ['kind'], () =>
    diskBytes(of.dataFolder),
  );
  gauge('platform_data_disk_inodes', 'Files that fit on the file system of the data folder.', ['kind'], async () => {
    const { files, ffree } = await statfs(of.dataFolder);
    // Btrfs and others have no fixed number of files, and report 0.
    return files === 0 ? [] : kinds({ free: ffree, size: files });
  });
  gauge('platform_backup_last_success_timestamp_seconds', 'Time of the newest backup.', [], async () =>
    seconds(await of.backups.last()),
  );
  gauge('platform_backup_disk_bytes', 'File system of the scheduled backups; free: for this user.', ['kind'], () =>
    of.backups.folder === undefined ? [] : diskBytes(of.backups.folder),
  );
  gauge('platform_certificate_end_timestamp_seconds', 'End of the TLS certificate in use.', [], () =>
    seconds(of.certificateEnds()),
  );
  gauge(
    'platform_release_document_end_timestamp_seconds',
    'End of the newest signed document of the releases, by its role.',
    ['role'],
    async () => {
      const ends = await documentEnds(of.db);
      return ends.map(({ role, endsAt }) => ({ labels: { role }, value: endsAt / 1_000 }));
    },
  );
  gauge('platform_notices', 'Lines of /readyz that say what is wrong, by their kind.', ['kind'], async () => {
    const { problems, checks } = await of.readiness();
    const failed = checks.filter(({ problem }) => problem !== undefined).length;
    const fatal = problems.filter(({ isFatal }) => isFatal).length;
    return kinds({ check: failed, problem: fatal, notice: problems.length - fatal });
  });
}

const kinds = (values: Readonly<Record<string, number>>): Sample[] =>
  Object.entries(values).map(([kind, value]) => ({ labels: { kind }, value }));

const seconds = (ms: number | undefined): Sample[] => (ms === undefined ? [] : [{ value: ms / 1_000 }]);

async function diskBytes(folder: string): Promise<Sample[]> {
  const { bsize, bavail, blocks } = await statfs(folder);
  return kinds({ free: bsize * bavail, size: bsize * blocks });
}
