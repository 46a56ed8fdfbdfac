import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fstabEntryOf, isVolatile, mountOf } from './mounts.ts';

const mountinfo = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 8:2 / /opt rw,nosuid,noexec shared:2 - ext4 /dev/sda2 rw
31 22 0:30 / /mnt/a\\040b rw - tmpfs tmpfs rw
32 30 0:31 / /opt rw,noexec - tmpfs tmpfs rw
`;

const mounts: readonly [file: string, device: string, mountPoint: string, isNoExec: boolean][] = [
  ['/', '8:1', '/', false],
  ['/optional/x', '8:1', '/', false],
  ['/opt', '0:31', '/opt', true],
  ['/opt/platform/bin', '0:31', '/opt', true],
  ['/mnt/a b/c', '0:30', '/mnt/a b', false],
];
for (const [file, device, mountPoint, isNoExec] of mounts)
  test(`the mount of ${file}`, () => {
    const found = mountOf(mountinfo, file);
    assert.deepEqual(
      [found?.device, found?.mountPoint, found?.options.includes('noexec')],
      [device, mountPoint, isNoExec],
    );
  });

test('no mount is listed', () => assert.equal(mountOf('', '/opt'), undefined));

test('an fstab: the entry with the longest mount point, without comments and swap', () => {
  const fstab = `# /opt ext4 noexec
UUID=1 / ext4 defaults 0 1
UUID=2 none swap sw 0 0
UUID=3\t/opt  ext4 defaults,noexec 0 2
`;
  assert.deepEqual(fstabEntryOf(fstab, '/opt/platform'), { mountPoint: '/opt', options: ['defaults', 'noexec'] });
  assert.equal(fstabEntryOf(fstab, '/etc/x')?.mountPoint, '/');
  assert.equal(fstabEntryOf('', '/opt/platform'), undefined);
});

/** As overlayroot mounts them, and a container. */
const overlay = `22 1 0:29 / / rw - overlay overlayroot rw,lowerdir=/media/root-ro,upperdir=/media/root-rw/overlay,workdir=/x
23 22 8:1 / /media/root-ro ro - ext4 /dev/sda1 ro
24 22 0:28 / /media/root-rw rw - tmpfs tmpfs-root rw
25 22 8:2 / /opt/platform rw - ext4 /dev/sda2 rw
`;
const container = `22 1 0:50 / / rw - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/var/lib/docker/overlay2/c/diff,workdir=/w\n`;
const onDisk = `22 1 0:29 / / rw - overlay over rw,lowerdir=/rom,upperdir=/overlay/upper,workdir=/overlay/work
23 22 31:6 / /overlay rw - ext4 /dev/mmcblk0p3 rw
`;
const volatiles: readonly [what: string, mountinfo: string, folder: string, expected: boolean][] = [
  ['a disk', mountinfo, '/var', false],
  ['memory', mountinfo, '/opt/platform', true],
  ['an overlay in memory', overlay, '/opt/other', true],
  ['a disk over an overlay in memory', overlay, '/opt/platform', false],
  ['a container', container, '/opt/platform', false],
  ['an overlay on a disk', onDisk, '/opt/platform', false],
  ['not known', '', '/opt/platform', false],
];
for (const [what, mounted, folder, expected] of volatiles)
  test(`volatile: ${what}`, () => assert.equal(isVolatile(mounted, folder), expected));
