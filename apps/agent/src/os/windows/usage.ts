// What Node reports of any machine. It reports neither the temperature nor the bytes of the network.
import { statfs } from 'node:fs/promises';
import os from 'node:os';
import type { UsageReading } from '../ports.ts';

/** @param folder - on the disk that is measured */
export async function windowsUsage(folder: string): Promise<UsageReading> {
  const times = os.cpus().map((processor) => processor.times);
  const idle = times.reduce((sum, time) => sum + time.idle, 0);
  const total = times.reduce((sum, { user, nice, sys, idle: rest, irq }) => sum + user + nice + sys + rest + irq, 0);
  const space = await statfs(folder).catch(() => undefined);
  return {
    ...(total > 0 && { processor: { busy: total - idle, total } }),
    memory: { usedBytes: os.totalmem() - os.freemem(), sizeBytes: os.totalmem() },
    ...(space &&
      space.blocks > 0 && {
        disk: { usedBytes: (space.blocks - space.bfree) * space.bsize, sizeBytes: space.blocks * space.bsize },
      }),
  };
}
