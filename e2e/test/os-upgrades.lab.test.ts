// The operating system of a machine, with the real systemd, journald, apt, dpkg and unattended-upgrades.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { aptArchive, isSystemApplied as isApplied } from '../lab/apt-archive.ts';
import { build } from '../lab/builds.ts';
import { installed, telling } from '../lab/installed.ts';
import { container, eventually } from '../lab/machine.ts';
import { startSite } from '../lab/site.ts';

const limits = '/etc/systemd/journald.conf.d/90-platform.conf';
const [periodic, origins] = ['20auto-upgrades', '50unattended-upgrades'].map((name) => `/etc/apt/apt.conf.d/${name}`);
const versions = "dpkg-query -W -f '${Package}=${Version} ' lab-main lab-sec lab-acme";

const codes = ({ report }: Machine): string[] => report?.conditions.map(({ code }) => code) ?? [];

test('logs and upgrades of the operating system', { timeout: 1_800_000 }, async (t) => {
  await using site = await startSite();
  for (const program of ['platform-agent', 'platform-server'] as const)
    await site.publish(await build(program, '0.1.0'), 'stable');
  await using machine = await container(site.port);
  await using archive = await aptArchive(machine);
  const { offer } = archive;
  await archive.use('file:/srv/repo');
  const { partId } = await telling(machine, () => installed(site, machine, 'pump'));
  const want = async (system: object | undefined, more: object = {}): Promise<void> => {
    await site.configure(partId, { ...(system && { system_configuration: system }), ...more });
  };
  const applied = (what: string) => site.until(partId, what, 180, isApplied);
  const applies = async (system: object | undefined, more: object = {}): Promise<void> => {
    const { wantedRevision } = await site.machine(partId);
    await want(system, more);
    await site.until(partId, JSON.stringify(system), 300, (now) => {
      return isApplied(now) && now.wantedRevision > wantedRevision;
    });
  };
  const started = () => machine.must('systemctl show -P ActiveEnterTimestampMonotonic systemd-journald');

  await telling(machine, async () => {
    await t.test('journald takes the limits, and no line of the agent is lost by its restart', async () => {
      await applied('no system_configuration');
      assert.notEqual((await machine.exec(`cat ${limits}`)).code, 0);
      const before = await started();
      await applies({ logging_journald_system_max_use_megabytes: 64 });
      assert.match(await machine.must(`cat ${limits}`), /SystemMaxUse=64M\nRuntimeMaxUse=512M/);
      const after = await started();
      assert.notEqual(after, before);
      await machine.must('systemctl restart platform-agent');
      await eventually('the agent is up again', 120, async () =>
        (await machine.exec('/opt/platform/bin/platform-agent status')).code === 0 ? true : undefined,
      );
      await applied('after a restart of the agent');
      assert.equal(await started(), after, 'nothing has changed');
      const journal = await machine.must('journalctl -u platform-agent -o cat --no-pager');
      const lines = await eventually('the lines around the restart are in LOGS', 60, async () => {
        const all = await site.logs(partId);
        return all.includes('journald was restarted with other limits') ? all : undefined;
      });
      for (const text of ['a file of the operating system is written', 'journald was restarted with other limits']) {
        assert.ok(lines.includes(text), `LOGS: ${text}`);
        assert.ok(journal.includes(text), `journal: ${text}`);
      }
    });

    await t.test(
      'security: installed, limited to the security archive, and effective when the timers are',
      async () => {
        await machine.must(`mkdir -p /etc/apt/apt.conf.d && echo '// mine' > ${origins}`);
        await want({ os_auto_upgrade_type: 'security' });
        await site.until(partId, 'the timers are off', 300, (now) => codes(now).includes('OS_UPGRADES_OVERRIDDEN'));
        await machine.must('systemctl start apt-daily.timer apt-daily-upgrade.timer');
        await applied('the timers are on');
        assert.match(await machine.must(`cat ${origins}`), /\{\n {2}"origin=Debian,codename=bookworm-security";\n\};/);
        await offer('2.0', { NEED_REBOOT: '1' });
        await machine.must('apt-get -qq update && unattended-upgrade', 300);
        assert.equal((await machine.must(versions)).trim(), 'lab-acme=1.0 lab-main=1.0 lab-sec=2.0');
      },
    );

    await t.test('all: the archive of the vendor, too', async () => {
      await applies({ os_auto_upgrade_type: 'all' });
      await machine.must('unattended-upgrade', 300);
      assert.equal((await machine.must(versions)).trim(), 'lab-acme=2.0 lab-main=2.0 lab-sec=2.0');
    });

    await t.test('upgrade now waits for a lock, and survives a stop of the agent; the report shows it', async () => {
      await offer('3.0', { NEED_REBOOT: '1', SLOW: '15' });
      const hold = 'import fcntl,time; f=open("/var/lib/dpkg/lock-frontend","w"); fcntl.lockf(f,2); time.sleep(600)';
      await machine.must(`systemd-run -q --unit=holder python3 -c '${hold}'`);
      await site.fleet.upgradeSystem({ partId });
      const isHeld = ({ report }: Machine): boolean =>
        report?.conditions.some((one) => one.code === 'OS_PACKAGES_WAIT' && one.message.includes('python3')) ?? false;
      await site.until(partId, 'it says who holds the lock', 120, isHeld);
      await machine.must('systemctl stop holder');
      await eventually('dpkg configures a package', 180, async () =>
        (await machine.exec('test -e /run/lab-main.slow')).code === 0 ? true : undefined,
      );
      await machine.must('systemctl stop platform-agent', 300);
      assert.equal(await machine.must('systemctl is-active platform-packages'), 'active');
      await machine.must('systemctl start platform-agent');
      await site.until(partId, 'all is upgraded', 180, ({ report }) => {
        const last = report?.system?.lastRun;
        return report?.system?.task === '' && last?.packages.some(({ toVersion }) => toVersion === '3.0') === true;
      });
      assert.equal((await machine.must(versions)).trim(), 'lab-acme=3.0 lab-main=3.0 lab-sec=3.0');
      const { report } = await site.until(
        partId,
        'a reboot is needed',
        180,
        (now) => now.report?.system?.rebootWait !== '',
      );
      assert.deepEqual(report?.system?.rebootCauses, ['lab-sec']);
      assert.equal(report?.system?.rebootWait, 'no maintenance window is configured');
      assert.ok(report.conditions.some(({ code }) => code === 'OS_REBOOT_NEEDED'));
      const journal = await machine.must('journalctl -u platform-agent -o cat --no-pager');
      assert.equal(journal.split('a package manager is started').length - 1, 4, 'lists twice, install, upgrade once');
    });

    await t.test('disable, and an empty value: as before this agent', async () => {
      await applies({ os_auto_upgrade_type: 'disable' });
      assert.match(await machine.must('apt-config dump APT::Periodic::Unattended-Upgrade'), /"0"/);
      await applies({ os_auto_upgrade_type: '' });
      assert.equal(await machine.must(`cat ${origins}`), '// mine');
      assert.notEqual((await machine.exec(`cat ${periodic}`)).code, 0);
    });

    await t.test('disable_system_configuration: the limits are gone', async () => {
      await applies({}, { advanced_settings: { disable_system_configuration: true } });
      assert.notEqual((await machine.exec(`cat ${limits}`)).code, 0);
    });

    await t.test('uninstalling gives everything back', async () => {
      await applies({ os_auto_upgrade_type: 'security' });
      const output = await machine.must('/opt/platform/bin/platform-agent uninstall --yes', 300);
      assert.match(output, /^Left installed: the package unattended-upgrades\./m);
      assert.equal(await machine.must(`cat ${origins}`), '// mine');
      for (const file of [limits, periodic]) assert.notEqual((await machine.exec(`cat ${file}`)).code, 0, file);
    });
  });
});
