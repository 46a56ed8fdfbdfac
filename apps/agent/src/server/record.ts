import { checksum } from '../storage/checksum.ts';
import type { Disk, Position, ProcessId } from '../os/ports.ts';

/** What a later agent has to know of the server that this one started. */
export interface ServerRecord extends ProcessId {
  /** Installed version that was started. */
  id: string;
  /** Where its stdout begins; its ready line comes after that. */
  from: Position | undefined;
  /** Stands for the credentials that it was started with. */
  credentials: string;
  /** Stands for the environment that it was started with; undefined: an earlier agent did not note it. */
  environment?: string;
  /** Known once it was ready. */
  url?: string;
}

/** Equal for equal environments, whatever the order; says nothing of their values. */
export const environmentMark = (environment: Readonly<Record<string, string>>): string =>
  checksum(new TextEncoder().encode(JSON.stringify(Object.entries(environment).toSorted())));

export const recordFile = 'state/server.json';

export const writeRecord = (disk: Disk, record: ServerRecord): Promise<void> =>
  disk.write(recordFile, new TextEncoder().encode(JSON.stringify(record)));

/** Undefined when there is none, or none that can be trusted. */
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
