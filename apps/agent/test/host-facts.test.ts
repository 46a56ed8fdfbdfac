// Facts of a machine: the formats of kernels and firmware, and one contract for the real and the simulated device.
import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { FakeClock, tempFolder } from '@platform/kit/testing';
import { systemClock } from '@platform/kit/node';
import { factsReport } from '../src/link/request.ts';
import { linuxDevice } from '../src/os/linux/device.ts';
import {
  celsius,
  distributionName,
  firmwareText,
  deviceOf,
  linuxHostFacts,
  memoryBytes,
  timeZoneOf,
  uptimeSeconds,
  wearPercent,
} from '../src/os/linux/kernel/host-facts.ts';
import { nvmeWear, nvmeWearReader } from '../src/os/linux/kernel/nvme-wear.ts';
import { SimDevice } from '../src/os/sim/device.ts';

const raspberryMounts = [
  '21 26 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw',
  '26 1 179:2 / / rw,noatime shared:1 - ext4 /dev/mmcblk0p2 rw',
  '40 26 179:1 / /boot/firmware rw shared:20 - vfat /dev/mmcblk0p1 rw',
].join('\n');

const rows: [name: string, found: unknown, expected: unknown][] = [
  ['model of a device tree', firmwareText('Raspberry Pi 4 Model B Rev 1.4\0'), 'Raspberry Pi 4 Model B Rev 1.4'],
  ['serial of a device tree', firmwareText('10000000a3b4c5d6\0'), '10000000a3b4c5d6'],
  ['placeholder of a board', firmwareText('To Be Filled By O.E.M.\n'), undefined],
  ['placeholder of an image', firmwareText('Default string\n'), undefined],
  ['placeholder digits', firmwareText('0123456789\n'), undefined],
  ['zeros', firmwareText('0000000000000000\0'), undefined],
  ['nothing', firmwareText(''), undefined],
  ['no file', firmwareText(undefined), undefined],
  ['control characters', firmwareText('Board\u001B[2J X\n'), 'Board [2J X'],
  ['memory', memoryBytes('MemTotal:        3884332 kB\nMemFree:  1 kB\n'), 3884332 * 1024],
  ['no memory line', memoryBytes('MemFree: 1 kB\n'), undefined],
  [
    'quoted name',
    distributionName('ID=debian\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'),
    'Debian GNU/Linux 12 (bookworm)',
  ],
  ['plain name', distributionName('PRETTY_NAME=Alpine\n'), 'Alpine'],
  ['no name', distributionName('ID=x\n'), undefined],
  ['time zone', timeZoneOf('/usr/share/zoneinfo/America/Argentina/Ushuaia'), 'America/Argentina/Ushuaia'],
  ['time zone by a relative link', timeZoneOf('../usr/share/zoneinfo/Etc/GMT+5'), 'Etc/GMT+5'],
  ['time zone of the posix folder', timeZoneOf('/usr/share/zoneinfo/posix/Europe/Berlin'), 'Europe/Berlin'],
  ['time zone of a copied file', timeZoneOf(''), undefined],
  ['a link elsewhere', timeZoneOf('/etc/zone'), undefined],
  ['uptime', uptimeSeconds('93012.42 181233.10\n'), 93012.42],
  ['no uptime', uptimeSeconds(''), undefined],
  ['root on a card', deviceOf(raspberryMounts, '/'), '179:2'],
  ['root of a container', deviceOf('600 500 0:52 / / rw - overlay overlay rw', '/'), undefined],
  ['new eMMC', wearPercent('0x01 0x01\n'), 10],
  ['the more worn kind counts', wearPercent('0x02 0x07\n'), 70],
  ['beyond its life', wearPercent('0x0b 0x01\n'), 110],
  ['wear is not defined', wearPercent('0x00 0x00\n'), undefined],
  ['an SD card has no file', wearPercent(''), undefined],
  ['temperature', celsius('48312\n'), 48.312],
  ['frost', celsius('-12000\n'), -12],
  ['a sensor that is off', celsius('0\n'), undefined],
  ['a broken sensor', celsius('-274000\n'), undefined],
  ['no sensor', celsius(''), undefined],
];
for (const [name, found, expected] of rows) test(`formats: ${name}`, () => assert.deepEqual(found, expected));

async function machine(files: Record<string, string>) {
  const folder = await tempFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(folder.file(name)), { recursive: true });
    await writeFile(folder.file(name), text);
  }
  return folder;
}

test('the facts of a Raspberry Pi with an eMMC', async () => {
  const disk = 'sys/devices/mmc0/block/mmcblk0';
  await using folder = await machine({
    'proc/device-tree/model': 'Raspberry Pi Compute Module 4 Rev 1.1\0',
    'proc/device-tree/serial-number': '10000000a3b4c5d6\0',
    'proc/meminfo': 'MemTotal:        3884332 kB\n',
    'proc/sys/kernel/osrelease': '6.1.0-rpi7-rpi-v8\n',
    'proc/uptime': '120.50 400.00\n',
    'proc/self/mountinfo': raspberryMounts,
    'etc/os-release': 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    'sys/class/thermal/thermal_zone0/temp': '48312\n',
    'sys/class/thermal/thermal_zone1/temp': '51000\n',
    'sys/class/thermal/cooling_device0/temp': '99000\n',
    [`${disk}/device/life_time`]: '0x03 0x01\n',
    [`${disk}/mmcblk0p2/partition`]: '2\n',
  });
  await mkdir(folder.file('sys/dev/block'), { recursive: true });
  await symlink(folder.file(`${disk}/mmcblk0p2`), folder.file('sys/dev/block/179:2'));
  const { disk: space, architecture, ...facts } = await linuxHostFacts(folder.path);
  assert.equal(space?.wearPercent, 30);
  assert.ok(architecture);
  assert.deepEqual(facts, {
    model: 'Raspberry Pi Compute Module 4 Rev 1.1',
    serial: '10000000a3b4c5d6',
    distribution: 'Debian GNU/Linux 12 (bookworm)',
    kernel: '6.1.0-rpi7-rpi-v8',
    memoryBytes: 3884332 * 1024,
    temperatureCelsius: 51,
    uptimeSeconds: 120.5,
  });
});

/** Output of smartctl 7.4, without the fields that are not read. */
const smartctl = {
  worn: `{"json_format_version":[1,0],"smartctl":{"version":[7,4],"exit_status":0},
    "device":{"name":"/dev/nvme0n1","type":"nvme","protocol":"NVMe"},
    "nvme_smart_health_information_log":{"critical_warning":0,"temperature":41,"available_spare":100,"percentage_used":2}}`,
  beyond: '{"nvme_smart_health_information_log":{"percentage_used":255}}',
  refused: `{"smartctl":{"messages":[{"string":"Smartctl open device: /dev/nvme0n1 failed: Permission denied"}],"exit_status":2}}`,
};
for (const [name, text, expected] of [
  ['a disk that is worn by two percent', smartctl.worn, 2],
  ['a disk beyond its life', smartctl.beyond, 255],
  ['a disk that may not be opened', smartctl.refused, undefined],
  ['smartctl is not installed', 'spawn smartctl ENOENT', undefined],
  ['a value that no disk reports', '{"nvme_smart_health_information_log":{"percentage_used":"2"}}', undefined],
] as const)
  test(`wear of NVMe: ${name}`, () => assert.equal(nvmeWear(text), expected));

test('the wear of the NVMe disk with the root file system is read once a day', async () => {
  await using folder = await machine({
    'proc/self/mountinfo': '26 1 259:2 / / rw,noatime shared:1 - ext4 /dev/nvme0n1p2 rw',
    'sys/devices/pci/nvme/nvme0/nvme0n1/nvme0n1p2/partition': '2',
  });
  await mkdir(folder.file('sys/dev/block'), { recursive: true });
  await symlink('../../devices/pci/nvme/nvme0/nvme0n1/nvme0n1p2', folder.file('sys/dev/block/259:2'));
  const clock = new FakeClock();
  const answers = [smartctl.worn, smartctl.beyond];
  const asked: string[] = [];
  const run = async (program: string, ...args: string[]) => {
    asked.push([program, ...args].join(' '));
    return { code: 0, text: answers[asked.length - 1] ?? '' };
  };
  const wearOf = nvmeWearReader({ run }, clock);
  const wear = async () => (await linuxHostFacts(folder.path, { wearOf })).disk?.wearPercent;
  assert.deepEqual([await wear(), await wear()], [2, 2]);
  await clock.advance(25 * 3_600_000);
  assert.equal(await wear(), 255);
  assert.deepEqual(new Set(asked), new Set(['smartctl --json --attributes /dev/nvme0n1']));
});

test('the model of a PC has its maker once, and a machine without any file has no facts of it', async () => {
  const dmi = 'sys/class/dmi/id';
  await using pc = await machine({ [`${dmi}/sys_vendor`]: 'Dell Inc.\n', [`${dmi}/product_name`]: 'OptiPlex 7090\n' });
  await using named = await machine({ [`${dmi}/sys_vendor`]: 'HP\n', [`${dmi}/product_name`]: 'HP t640\n' });
  await using bare = await machine({});
  assert.equal((await linuxHostFacts(pc.path)).model, 'Dell Inc. OptiPlex 7090');
  assert.equal((await linuxHostFacts(named.path)).model, 'HP t640');
  assert.deepEqual(Object.keys(await linuxHostFacts(bare.path)), ['architecture', 'disk']);
});

const sim = (): SimDevice => {
  const device = new SimDevice(new FakeClock());
  device.facts = { architecture: 'x86_64', kernel: '6.1.0', disk: { sizeBytes: 100, freeBytes: 50 } };
  return device;
};
for (const [kind, make] of [
  ['linux', () => linuxDevice({ root: '/', mark: { name: 'X', value: 'x' }, clock: systemClock })],
  ['sim', () => sim().session().device],
] as const) {
  test(`${kind}: facts are known values, and their report needs no others`, async () => {
    const facts = await make().hostFacts?.();
    assert.ok(facts?.kernel && facts.architecture);
    assert.ok(facts.disk && facts.disk.freeBytes <= facts.disk.sizeBytes);
    assert.ok(Object.values(facts).every((value) => value !== undefined && value !== '' && value !== 0));
    const report = factsReport(facts);
    assert.equal(report.disk?.sizeBytes, BigInt(facts.disk.sizeBytes));
    assert.equal(report.memoryBytes === undefined, facts.memoryBytes === undefined);
  });
}
