import { checksum } from '../storage/checksum.ts';
import type { Disk, Position, ProcessId } from '../os/ports.ts';

/** What a later agent needs to know about the server that this one started. */
export interface ServerRecord extends ProcessId {
  /** Id of the version that was started. */
  id: string;
  /** Start of its stdout in the file; its ready line follows. */
  from: Position | undefined;
  /** Checksum of the credentials that it was started with. */
  credentials: string;
  /** Checksum of the environment that it was started with; undefined: it was adopted without a record. */
  environment?: string;
  /** Set once the server was ready. */
  url?: string;
}

/** Equal for equal environments, in any order. The checksum does not reveal the values. */
export const environmentMark = (environment: Readonly<Record<string, string>>): string =>
  checksum(new TextEncoder().encode(JSON.stringify(Object.entries(environment).toSorted())));

export const recordFile = 'state/server.json';

export const writeRecord = (disk: Disk, record: ServerRecord): Promise<void> =>
  disk.write(recordFile, new TextEncoder().encode(JSON.stringify(record)));

/** Undefined: there is no record, or it is invalid. */
export async function readRecord(disk: Disk): Promise<ServerRecord | undefined> {
  const bytes = await disk.read(recordFile);
  if (!bytes) return undefined;
  try {
    const r = JSON.parse(new TextDecoder().decode(bytes)) as Partial<ServerRecord>;
    if (typeof r.pid !== 'number' || typeof r.startTime !== 'string' || typeof r.id !== 'string') return undefined;
    return {
      pid: r.pid,
      startTime: r.startTime,
      id: r.id,
      from: r.from,
      credentials: String(r.credentials ?? ''),
      ...(r.environment !== undefined && { environment: r.environment }),
      ...(r.url !== undefined && { url: r.url }),
    };
  } catch {
    return undefined;
  }
}
