// A spool on a simulated disk, for its tests.
import type { Level, LogLine } from '@platform/kit';
import { simDisk, type DiskFaults } from '../src/os/sim/disk.ts';
import { SimFiles } from '../src/os/sim/files.ts';
import { checksum } from '../src/storage/checksum.ts';
import type { SpoolRecord } from '../src/logs/spool-record.ts';
import { Spool, standardSpoolLimits, type SpoolLimits } from '../src/logs/spool.ts';

export const line = (message: string, level: Level = 'info'): LogLine => ({
  time: 5,
  level,
  logger: 'a',
  message,
  fields: { n: 1 },
});
export function sealed(json: string): Uint8Array {
  return new TextEncoder().encode(`${checksum(new TextEncoder().encode(json))} ${json}\n`);
}
export const at = (offset: number) => ({ cursor: { source: 'x', file: 'f', offset } });
export const read = (offset: number) => ({ file: 'f', offset });
/** One segment per line. */
export const tiny: SpoolLimits = { ...standardSpoolLimits, segmentBytes: 1 };
export const small: SpoolLimits = { ...standardSpoolLimits, segmentBytes: 200, totalBytes: 1200 };

export async function world(limits = standardSpoolLimits) {
  const [files, faults] = [new SimFiles(), {} as DiskFaults];
  const disk = simDisk(files, faults);
  let ids = 0;
  const open = () => {
    faults.isOff = false;
    return Spool.open(disk, limits, () => `boot${++ids}`);
  };
  return { files, faults, open, spool: await open() };
}
export const put = async (spool: Spool, ...lines: (string | LogLine)[]) => {
  for (const l of lines) void spool.append(typeof l === 'string' ? line(l) : l);
  await spool.flush();
};
export const all = async (spool: Spool): Promise<string[]> => {
  const got: string[] = [];
  for (let batch = await spool.next(3); batch.length > 0; batch = await spool.next(3)) {
    got.push(...batch.map((r) => `${r.sequence} ${r.message}`));
    await spool.ack(batch.at(-1)!.sequence);
  }
  return got;
};

export const drain = async (spool: Spool, max: number) => {
  const got: SpoolRecord[] = [];
  for (let seen = 0; ; seen = got.length) {
    const more = (await spool.next(max)).filter((r) => !got.some((g) => g.sequence === r.sequence));
    got.push(...more);
    if (got.length === seen) return got;
    await spool.ack(got.at(-1)!.sequence);
  }
};
