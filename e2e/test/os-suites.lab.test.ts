// The operating system of machines with other releases of Debian than the one that the other tests of the lab run on:
// installed by one line, with the real systemd, journald, apt, dpkg and unattended-upgrades of that release.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aptArchive, isSystemApplied } from '../lab/apt-archive.ts';
import { build } from '../lab/builds.ts';
import { everything, installed, telling } from '../lab/installed.ts';
import { suiteContainer } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { type Site, startSite } from '../lab/site.ts';

const limits = '/etc/systemd/journald.conf.d/90-platform.conf';
const origins = '/etc/apt/apt.conf.d/50unattended-upgrades';
const versions = "dpkg-query -W -f '${Package}=${Version} ' lab-main lab-sec lab-acme";

const releases = [
  { suite: 'bullseye', archive: 'oldoldstable', debian: '11' },
  { suite: 'trixie', archive: 'stable', debian: '13' },
] as const;

/** Upgrades of packages stay after the agent is gone; settings and programs do not. */
const settingsIn = (all: string): string[] =>
  all.split('\n').filter((line) => /(^|  )(\.\/)?(etc|opt|root|usr\/local)\b/.test(line));

async function story(site: Site, { suite, archive, debian }: (typeof releases)[number]): Promise<void> {
  await using machine = await suiteContainer(suite, site.port);
  await using apt = await aptArchive(machine, { suite, archive });
  assert.match(await machine.must('cat /etc/debian_version'), new RegExp(`^${debian}\\.`));
  await apt.use('file:/srv/repo', '/srv/unattended-upgrades_*.deb');
  await machine.must('systemctl enable -q --now apt-daily.timer apt-daily-upgrade.timer');
  const saved = await machine.must(`cat ${origins}`);
  const before = settingsIn(await everything(machine));
  const { seconds, value } = await timed(() => telling(machine, () => installed(site, machine, suite)));
  await keep(`Debian ${debian}: install by one line, until agent and machine server are online`, 'container', seconds);
  const { partId } = value;
  const applies = async (system: object): Promise<void> => {
    const { wantedRevision } = await site.machine(partId);
    await site.configure(partId, { system_configuration: system });
    await site.until(
      partId,
      JSON.stringify(system),
      300,
      (now) => isSystemApplied(now) && now.wantedRevision > wantedRevision,
    );
  };
  const { seconds: whole } = await timed(() =>
    telling(machine, async () => {
      await applies({ logging_journald_system_max_use_megabytes: 64, os_auto_upgrade_type: 'security' });
      assert.match(await machine.must(`cat ${limits}`), /SystemMaxUse=64M\nRuntimeMaxUse=512M/);
      assert.match(
        await machine.must(`cat ${origins}`),
        new RegExp(`\\{\\n {2}"origin=Debian,codename=${suite}-security";\\n\\};`),
      );
      await apt.offer('2.0');
      await machine.must('apt-get -qq update && unattended-upgrade', 300);
      assert.equal((await machine.must(versions)).trim(), 'lab-acme=1.0 lab-main=1.0 lab-sec=2.0');
      await applies({ os_auto_upgrade_type: 'all' });
      await site.fleet.upgradeSystem({ partId });
      await site.until(partId, 'all is upgraded by the button', 300, ({ report }) => {
        const last = report?.system?.lastRun;
        return (
          last?.packages.some(({ package: name, toVersion }) => name === 'lab-acme' && toVersion === '2.0') === true
        );
      });
      assert.equal((await machine.must(versions)).trim(), 'lab-acme=2.0 lab-main=2.0 lab-sec=2.0');
      await applies({ os_auto_upgrade_type: '', logging_journald_system_max_use_megabytes: -1 });
      assert.equal(await machine.must(`cat ${origins}`), saved);
      await machine.must('/opt/platform/bin/platform-agent uninstall --yes', 300);
      for (const file of [limits, `${origins}.save`])
        assert.notEqual((await machine.exec(`cat ${file}`)).code, 0, file);
    }),
  );
  await keep(`Debian ${debian}: limits, security and all upgrades, given back, uninstalled`, 'container', whole);
  const after = settingsIn(await everything(machine));
  const without = (some: string[], others: string[]): string[] => some.filter((line) => !others.includes(line));
  assert.deepEqual({ more: without(after, before), fewer: without(before, after) }, { more: [], fewer: [] });
}

for (const release of releases)
  test(`Debian ${release.debian}: logs and upgrades of the operating system`, { timeout: 1_800_000 }, async () => {
    await using site = await startSite();
    for (const program of ['platform-agent', 'platform-server'] as const)
      await site.publish(await build(program, '0.1.0'), 'stable');
    await story(site, release);
  });
