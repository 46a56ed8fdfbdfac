// What goes wrong with the operating system of a machine: journald restarts under load, a folder cannot be written, dpkg is
// killed, the power fails. With the real systemd, journald, apt and dpkg.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Machine, OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { aptArchive, isSystemApplied as isApplied } from '../lab/apt-archive.ts';
import { build } from '../lab/builds.ts';
import { installed, mainPid, telling } from '../lab/installed.ts';
import { container, eventually } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';

const ofSystem = ({ report }: Machine): { code: string; message: string; remedy: string }[] =>
  report?.conditions.filter(({ code }) => /^(?:OS_PACKAGES|OS_UPGRADES|SYSTEM_NOT)/.test(code)) ?? [];

test('failures of the operating system', { timeout: 1_800_000 }, async (t) => {
  await using site = await startSite();
  for (const program of ['platform-agent', 'platform-server'] as const)
    await site.publish(await build(program, '0.1.0'), 'stable');
  await using machine = await container(site.port);
  await using archive = await aptArchive(machine);
  const { offer } = archive;
  await machine.must(
    `printf '[Unit]\\nDescription=repository\\n[Service]\\nExecStart=python3 -m http.server -b 127.0.0.1 -d /srv/repo 8099\\n[Install]\\nWantedBy=multi-user.target\\n' > /etc/systemd/system/repo.service
    systemctl daemon-reload; systemctl enable -q --now repo
    for i in $(seq 50); do curl -fsS -o /dev/null http://127.0.0.1:8099/ && break; sleep .2; done`,
    60,
  );
  await archive.use('http://127.0.0.1:8099/');
  await machine.must('systemctl enable -q --now apt-daily.timer apt-daily-upgrade.timer');
  const { partId } = await telling(machine, () => installed(site, machine, 'pump'));
  const want = (system: object, more: object = {}): Promise<void> =>
    site.configure(partId, { system_configuration: system }, more);
  const applied = (what: string, seconds = 300) =>
    site.until(partId, what, seconds, (now) => isApplied(now) && ofSystem(now).length === 0);
  const journal = (): Promise<string> => machine.must('journalctl -u platform-agent -o cat --no-pager');
  const versionOf = (name: string): Promise<string> =>
    machine.must(`dpkg-query -W -f '\${Version} \${db:Status-Status}' ${name}`);
  const configuring = (): Promise<boolean> =>
    eventually('dpkg configures a package', 180, async () =>
      (await machine.exec('test -e /run/lab-main.slow')).code === 0 ? true : undefined,
    );

  await telling(machine, async () => {
    await t.test('numbered lines of a machine server, while journald restarts three times: all, and once', async () => {
      const pid = await mainPid(machine, 'platform-server');
      await machine.must(
        `systemd-run -q --unit=numbers sh -c 'i=1; while [ ! -e /run/enough ]; do echo "numbered line $$i"; i=$$((i+1)); sleep .02; done > /proc/${pid}/fd/2; echo $$((i-1)) > /run/count'`,
      );
      const starts = new Set<string>();
      for (const megabytes of [64, 65, 66]) {
        await want({ logging_journald_system_max_use_megabytes: megabytes });
        await eventually(`the limit ${megabytes}`, 180, async () =>
          (await machine.exec(`grep -qx SystemMaxUse=${megabytes}M /etc/systemd/journald.conf.d/90-platform.conf`))
            .code === 0
            ? true
            : undefined,
        );
        await applied(`the limit ${megabytes} is applied`);
        await machine.must('sleep 2');
        starts.add(await machine.must('systemctl show -P ActiveEnterTimestampMonotonic systemd-journald'));
      }
      assert.equal(starts.size, 3);
      await machine.must('touch /run/enough; while [ ! -e /run/count ]; do sleep .1; done', 30);
      const count = Number(await machine.must('cat /run/count'));
      assert.ok(count > 100, `${count} lines`);
      await eventually('the last line is in LOGS', 120, async () =>
        (await site.logs(partId)).some((line) => line.includes(`numbered line ${count}`)) ? true : undefined,
      );
      const numbers = (await site.logs(partId)).flatMap((line) => {
        const [, number] = /numbered line (\d+)/.exec(line) ?? [];
        return number === undefined ? [] : [Number(number)];
      });
      assert.deepEqual(
        numbers,
        Array.from({ length: count }, (_, at) => at + 1),
      );
    });

    await t.test(
      'files in /etc that are read-only: one condition for each part, which goes with its cause',
      async () => {
        const places = '/etc/systemd/journald.conf.d';
        await machine.must(`mount -t tmpfs -o ro t ${places}`);
        await want({ logging_journald_system_max_use_megabytes: 70 });
        const failed = await site.until(partId, 'read-only', 120, (now) => ofSystem(now).length > 0);
        assert.deepEqual(
          ofSystem(failed).map(({ code }) => code),
          ['SYSTEM_NOT_APPLIED'],
        );
        assert.match(
          ofSystem(failed)[0]?.message ?? '',
          /90-platform\.conf cannot be written: the file system is read-only/,
        );
        await machine.must(`umount ${places}`);
        await applied('writable again');
        await machine.must(`grep -qx SystemMaxUse=70M ${places}/90-platform.conf`);
      },
    );

    await t.test('a dpkg that is killed is repaired by the next upgrade, which ends', async () => {
      await offer('2.0', { SLOW: '20' });
      await want({});
      await applied('upgrades by request');
      await site.fleet.upgradeSystem({ partId });
      await configuring();
      await machine.must('pkill -9 -x dpkg; sleep 1; pkill -9 -f lab-main[.]postinst; rm -f /run/lab-main.slow');
      const failed = await site.until(partId, 'the upgrade failed', 120, (now) => ofSystem(now).length > 0);
      assert.deepEqual(
        ofSystem(failed).map(({ code }) => code),
        ['OS_PACKAGES_FAILED'],
      );
      assert.match(await versionOf('lab-main'), /^2\.0 (?:half-configured|unpacked)$/);
      await site.fleet.upgradeSystem({ partId });
      await applied('the next upgrade');
      await eventually('lab-main is repaired', 120, async () =>
        (await versionOf('lab-main')) === '2.0 installed' ? true : undefined,
      );
      assert.match(await journal(), /dpkg was interrupted and is repaired first/);
      assert.equal(await machine.must('dpkg --audit'), '');
    });

    await t.test('a power cut in the middle of dpkg: the upgrade is repaired and ends after the start', async () => {
      await offer('3.0', { SLOW: '20' });
      await site.fleet.upgradeSystem({ partId });
      await configuring();
      await machine.kill();
      await machine.up();
      await eventually('lab-main is repaired', 300, async () =>
        (await machine.exec("dpkg-query -W -f '${Version} ${db:Status-Status}' lab-main")).stdout === '3.0 installed'
          ? true
          : undefined,
      );
      assert.equal(await machine.must('dpkg --audit'), '');
      assert.match(await journal(), /dpkg was interrupted and is repaired first/);
      await applied('after the power cut');
    });

    const failure = async (what: string, message: RegExp): Promise<void> => {
      await site.fleet.upgradeSystem({ partId });
      const failed = await site.until(partId, what, 180, (now) => ofSystem(now).length > 0);
      const [first, ...others] = ofSystem(failed);
      assert.deepEqual([first?.code, others.length], ['OS_PACKAGES_FAILED', 0]);
      assert.match(first?.message ?? '', message);
    };
    const upgradesTo = async (version: string): Promise<void> => {
      await site.fleet.upgradeSystem({ partId });
      await eventually(`lab-main is ${version}`, 180, async () =>
        (await versionOf('lab-main')) === `${version} installed` ? true : undefined,
      );
      await applied(`upgraded to ${version}`);
    };

    await t.test('a repository that cannot be reached: the cause is shown, and the next upgrade ends', async () => {
      await offer('4.0');
      await machine.must('systemctl stop repo');
      await failure('unreachable', /127\.0\.0\.1:8099.*(?:Connection refused|Could not connect)/s);
      await machine.must('systemctl start repo');
      await upgradesTo('4.0');
    });

    await t.test('an index that is not what its release file says: the cause is shown', async () => {
      await offer('5.0');
      const index = '/srv/repo/dists/bookworm/main/binary-amd64/Packages';
      await machine.must(`cp ${index} /root/index && echo 'X: y' >> ${index}`);
      await failure('another index', /(?:Hash Sum mismatch|File has unexpected size)/);
      await machine.must(`cp /root/index ${index}`);
      await upgradesTo('5.0');
    });

    await t.test(
      'a disk without room for the packages: the cause is shown, and nothing is half installed',
      async () => {
        await offer('6.0');
        await machine.must(
          'mount -t tmpfs -o size=4k t /var/cache/apt/archives && mkdir /var/cache/apt/archives/partial',
        );
        await failure('full disk', /No space left on device|enough free space/);
        assert.equal(await versionOf('lab-main'), '5.0 installed');
        await machine.must('umount /var/cache/apt/archives');
        await upgradesTo('6.0');
      },
    );

    await t.test('a reboot that an upgrade needs: never without a window, in an open one by itself', async () => {
      const boot = (): Promise<string> => machine.must('cat /proc/sys/kernel/random/boot_id');
      const before = await boot();
      await offer('7.0', { NEED_REBOOT: '1' });
      const { wantedRevision } = await site.machine(partId);
      await want({ os_auto_upgrade_type: 'all' });
      await site.until(
        partId,
        'unattended upgrades',
        300,
        (now) => isApplied(now) && now.wantedRevision > wantedRevision,
      );
      await upgradesTo('7.0');
      await site.until(partId, 'it waits', 180, ({ report }) =>
        /no maintenance window/.test(report?.system?.rebootWait ?? ''),
      );
      assert.equal(await boot(), before);
      await machine.must('touch /run/before-the-reboot');
      const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
      const window = { days, from: '00:00', duration_minutes: 1_440, time_zone: 'UTC' };
      await site.configure(
        partId,
        { system_configuration: { os_auto_upgrade_type: 'all' } },
        { maintenance_window: window },
      );
      const { seconds } = await timed(() =>
        eventually('another boot', 900, async () => {
          const { stdout } = await machine.exec(
            'test ! -e /run/before-the-reboot && cat /proc/sys/kernel/random/boot_id',
          );
          return stdout.trim() !== '' && stdout.trim() !== before ? true : undefined;
        }),
      );
      await keep('reboot for an upgrade, from the open window on', 'container', seconds);
      const after = await site.until(
        partId,
        'nothing needs a reboot',
        300,
        ({ onlineState, report }) =>
          onlineState === OnlineState.ONLINE && report?.system !== undefined && !report.system.rebootNeeded,
      );
      assert.ok(!after.report?.conditions.some(({ code }) => code === 'OS_REBOOT_NEEDED'));
    });
  });
});
