// Counters of a Linux machine. What is missing is left out, never 0.
import { readdir, readFile, statfs } from 'node:fs/promises';
import type { UsageReading } from '../../ports.ts';
import { hottest } from './host-facts.ts';

/** Ticks of all processors. Time in which a virtual machine did not run is neither busy nor idle. */
export function processorTicks(stat: string): UsageReading['processor'] {
  const line = /^cpu +([\d ]+)$/m.exec(stat)?.[1];
  const [user, nice, system, idle, waiting = 0, irq = 0, softIrq = 0] = (line ?? '').trim().split(/ +/).map(Number);
  if (user === undefined || nice === undefined || system === undefined || idle === undefined) return undefined;
  const busy = user + nice + system + irq + softIrq;
  return { busy, total: busy + idle + waiting };
}

export function usedMemory(meminfo: string): UsageReading['memory'] {
  const bytes = (name: string): number | undefined => {
    const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(meminfo)?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  };
  const [sizeBytes, availableBytes] = [bytes('MemTotal'), bytes('MemAvailable')];
  if (sizeBytes === undefined || availableBytes === undefined) return undefined;
  return { usedBytes: sizeBytes - availableBytes, sizeBytes };
}

/**
 * Bytes of all network devices that are hardware, so that a bridge or a tunnel does not count twice; of all but the
 * loopback device if none is, as in a container.
 */
export function networkBytes(netDev: string, isHardware: (device: string) => boolean): UsageReading['network'] {
  const all = [...netDev.matchAll(/^\s*(\S+):\s*(\d+)(?:\s+\d+){7}\s+(\d+)/gm)]
    .map(([, device = '', received, sent]) => ({ device, received: Number(received), sent: Number(sent) }))
    .filter(({ device }) => device !== 'lo');
  const hardware = all.filter(({ device }) => isHardware(device));
  const counted = hardware.length > 0 ? hardware : all;
  if (counted.length === 0) return undefined;
  return {
    receivedBytes: counted.reduce((sum, { received }) => sum + received, 0),
    sentBytes: counted.reduce((sum, { sent }) => sum + sent, 0),
  };
}

/**
 * @param prefix - empty, or a folder with files as of another machine
 * @param folder - whose file system counts
 */
export async function linuxUsage(prefix = '', folder = '/'): Promise<UsageReading> {
  const text = (file: string) => readFile(`${prefix}${file}`, 'utf8').catch(() => '');
  const reading = {
    processor: processorTicks(await text('/proc/stat')),
    memory: usedMemory(await text('/proc/meminfo')),
    disk: await usedDisk(prefix || folder),
    temperatureCelsius: await hottest(prefix, text),
    network: networkBytes(await text('/proc/net/dev'), await hardwareDevices(prefix)),
  };
  return Object.fromEntries(Object.entries(reading).filter(([, value]) => value !== undefined));
}

async function usedDisk(folder: string): Promise<UsageReading['disk']> {
  const space = await statfs(folder).catch(() => undefined);
  if (!space || space.blocks === 0) return undefined;
  // As df shows it: blocks that only root can write count neither as used nor as free.
  const used = space.blocks - space.bfree;
  return { usedBytes: used * space.bsize, sizeBytes: (used + space.bavail) * space.bsize };
}

async function hardwareDevices(prefix: string): Promise<(device: string) => boolean> {
  const folder = `${prefix}/sys/class/net`;
  const names = await readdir(folder).catch(() => []);
  const found = new Set<string>();
  for (const name of names.slice(0, 256)) {
    if (
      await readdir(`${folder}/${name}/device`).then(
        () => true,
        () => false,
      )
    )
      found.add(name);
  }
  return (device) => found.has(device);
}
