// What the kernel and the firmware of a Linux machine report about it. What is missing is left out, never 0.
import { readdir, readFile, readlink, realpath, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { DiskFacts, HostFacts } from '../../ports.ts';
import { mountOf } from '../../mounts.ts';
import { nvmeDisk } from './nvme-wear.ts';

/** Firmware whose maker did not fill in a field. */
const placeholder =
  /^(?:to be filled by o\.?e\.?m\.?|default string|system (?:product name|manufacturer|serial number|version)|not (?:specified|applicable|available)|none|n\/a|unknown|invalid|empty|o\.?e\.?m\.?|[0x.\-\s]*|0?123456789\d*)$/i;

/** A field of DMI or of the device tree, where it ends with NUL; undefined: its maker did not fill it in. */
export function firmwareText(text: string | undefined): string | undefined {
  const value = text?.replaceAll(/\p{Cc}+/gu, ' ').trim();
  return value === undefined || placeholder.test(value) ? undefined : value.slice(0, 200);
}

export const memoryBytes = (meminfo: string): number | undefined => {
  const kib = /^MemTotal:\s+(\d+) kB$/m.exec(meminfo)?.[1];
  return kib === undefined ? undefined : Number(kib) * 1024;
};

/** PRETTY_NAME of os-release. */
export function distributionName(osRelease: string): string | undefined {
  const line = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1]?.trim();
  return line?.replace(/^(["'])(.*)\1$/, '$2').slice(0, 200) || undefined;
}

/** Seconds since the boot. */
export const uptimeSeconds = (uptime: string): number | undefined => {
  const seconds = /^(\d+(?:\.\d+)?) /.exec(uptime)?.[1];
  return seconds === undefined ? undefined : Number(seconds);
};

/** The zone to whose data /etc/localtime leads; undefined: the file is a copy, so its name is not known. */
export const timeZoneOf = (localtime: string): string | undefined =>
  /\/zoneinfo\/(?:posix\/|right\/)?([A-Za-z][\w+/-]{1,62})$/.exec(localtime)?.[1];

/** Major and minor number of the device that holds the folder; undefined: it is on none, as in a container. */
export function deviceOf(mountinfo: string, folder: string): string | undefined {
  const device = mountOf(mountinfo, folder)?.device;
  return device === undefined || device.startsWith('0:') ? undefined : device;
}

/**
 * The used share of the life of an eMMC in percent. Its two kinds of memory each report a step of ten percent from 1 to
 * 10, 11 beyond that, and 0 if unknown (JEDEC JESD84-B51, DEVICE_LIFE_TIME_EST).
 */
export function wearPercent(lifeTime: string): number | undefined {
  const steps = (/^0x([0-9a-f]{1,2}) 0x([0-9a-f]{1,2})\s*$/i.exec(lifeTime) ?? [])
    .slice(1)
    .map((hex) => parseInt(hex, 16));
  const known = steps.filter((step) => step >= 1 && step <= 11);
  return known.length === 0 ? undefined : Math.max(...known) * 10;
}

/** Thousandths of a degree. Sensors that are off or broken report values that no machine survives. */
export function celsius(text: string): number | undefined {
  const value = /^-?\d+\s*$/.test(text) ? Number(text) / 1000 : undefined;
  return value === undefined || value < -60 || value > 150 || value === 0 ? undefined : value;
}

type ReadWear = (disk: string) => Promise<number | undefined>;

/**
 * @param prefix - empty, or a folder with files as of another machine
 * @param of - `folder`: whose disk is reported; `wearOf`: reads the wear of an NVMe disk such as nvme0n1
 */
export async function linuxHostFacts(
  prefix = '',
  { folder = '/', wearOf = async () => undefined }: { folder?: string; wearOf?: ReadWear } = {},
): Promise<HostFacts> {
  const text = (file: string) => readFile(`${prefix}${file}`, 'utf8').catch(() => '');
  const dmi = '/sys/class/dmi/id';
  const tree = '/proc/device-tree';
  const [maker, product] = [
    firmwareText(await text(`${dmi}/sys_vendor`)),
    firmwareText(await text(`${dmi}/product_name`)),
  ];
  const dmiModel = maker !== undefined && product?.startsWith(maker) !== true ? [maker, product] : [product];
  const facts = {
    model: firmwareText(await text(`${tree}/model`)) ?? firmwareText(dmiModel.filter(Boolean).join(' ')),
    serial: firmwareText(await text(`${tree}/serial-number`)) ?? firmwareText(await text(`${dmi}/product_serial`)),
    architecture: os.machine(),
    distribution: distributionName((await text('/etc/os-release')) || (await text('/usr/lib/os-release'))),
    kernel: (await text('/proc/sys/kernel/osrelease')).trim() || undefined,
    memoryBytes: memoryBytes(await text('/proc/meminfo')),
    disk: await diskOf({ prefix, folder, wearOf }, text),
    temperatureCelsius: await hottest(prefix, text),
    uptimeSeconds: uptimeSeconds(await text('/proc/uptime')),
    // Read anew: a process keeps the zone with which it started.
    timeZone: timeZoneOf(await readlink(`${prefix}/etc/localtime`).catch(() => '')),
  };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

type ReadText = (file: string) => Promise<string>;

async function diskOf(
  { prefix, folder, wearOf }: { prefix: string; folder: string; wearOf: ReadWear },
  text: ReadText,
): Promise<DiskFacts | undefined> {
  const space = await statfs(prefix || folder).catch(() => undefined);
  if (!space || space.blocks === 0) return undefined;
  const mountinfo = await text('/proc/self/mountinfo');
  const place = prefix === '' ? await realpath(folder).catch(() => folder) : folder;
  const mountPoint = mountOf(mountinfo, place)?.mountPoint;
  const device = deviceOf(mountinfo, place);
  const block = `/sys/dev/block/${device}`;
  // The entry of a partition is a folder in that of its disk.
  const nvme = nvmeDisk(path.basename(await readlink(`${prefix}${block}`).catch(() => '')));
  const wear =
    device === undefined
      ? undefined
      : nvme === undefined
        ? await firstKnown(text, [`${block}/device/life_time`, `${block}/../device/life_time`])
        : await wearOf(nvme);
  return {
    sizeBytes: space.blocks * space.bsize,
    freeBytes: space.bavail * space.bsize,
    ...(mountPoint !== undefined && { mountPoint }),
    ...(space.files > 0 && { inodes: space.files, freeInodes: space.ffree }),
    ...(wear !== undefined && { wearPercent: wear }),
  };
}

async function firstKnown(text: ReadText, files: readonly string[]): Promise<number | undefined> {
  for (const file of files) {
    const wear = wearPercent(await text(file));
    if (wear !== undefined) return wear;
  }
  return undefined;
}

/** In degrees Celsius. */
export async function hottest(prefix: string, text: ReadText): Promise<number | undefined> {
  const folder = '/sys/class/thermal';
  const zones = (await readdir(`${prefix}${folder}`).catch(() => [])).filter((name) => name.startsWith('thermal_zone'));
  const values = await Promise.all(
    zones.slice(0, 64).map(async (zone) => celsius(await text(`${folder}/${zone}/temp`))),
  );
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
