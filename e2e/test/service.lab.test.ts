// The management server as a service, from its archive and without a network, on a Debian with systemd; a machine that
// it manages stays online through everything that happens to the server.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { labCertificate } from '../lab/authority.ts';
import { signCommand, signedArchive } from '../lab/container.ts';
import { container, eventually, type LabMachine, serverName } from '../lab/machine.ts';
import { type ServerHost, startServerHost } from '../lab/server-host.ts';

const unpacked = '/root/archive';
const service = (command: string): string => `${unpacked}/platform admin ${command}`;
const install = service(
  `install-service --tls-cert /root/cert.pem --tls-key /root/key.pem --public-url https://${serverName}`,
);

/** An archive with another version: `change` is a shell command in its folder. */
const derive = (version: string, change = 'true'): string =>
  `cd /root && rm -rf next && cp -a archive next && cd next && sed -i '0,/"version": "[^"]*"/s//"version": "${version}"/' release.json package.json && ` +
  `${change} && cd .. && tar -czf ${version}.tar.gz next && rm -rf next && ${signCommand(`${version}.tar.gz`, 'sign.pem')}`;

const current = (on: LabMachine): Promise<string> => on.must('readlink /opt/platform-management/current');
/** In the order of the tables' names. */
const newMigrations = (...tables: string[]): string =>
  tables
    .map((table) => `echo "create table ${table} (id int);" > apps/cloud/src/database/migrations/9999_${table}.sql`)
    .join(' && ');

/** Shell: the server ends 3 s after it is ready. In front, because the program waits for its own end. */
const crashOnceReady =
  `echo "setInterval(() => fetch('http://127.0.0.1:443/readyz').then((r) => r.ok && setTimeout(() => process.exit(7), 3000)).catch(() => {}), 300);" > crash.ts && ` +
  'cat apps/cloud/src/main.ts >> crash.ts && mv crash.ts apps/cloud/src/main.ts';

async function machineOnline(host: LabMachine, name: string, seconds = 120): Promise<void> {
  await eventually(`${name} is online`, seconds, async () => {
    const { stdout } = await host.exec(`platform machine show ${name} --json`);
    return /"online_state":"online"/.test(stdout) ? true : undefined;
  });
}

async function upgrade(on: LabMachine, version: string, more = ''): Promise<{ code: number | null; text: string }> {
  const { code, stdout, stderr } = await on.exec(`platform admin upgrade /root/${version}.tar.gz ${more}`, 500);
  return { code, text: `${stdout}${stderr}` };
}

/** Types into the installation at a terminal: `script` makes one. @returns what the user sees. */
const typed = (lines: readonly string[]): string =>
  `printf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')} | script -qec '${service('install-service')}' /dev/null`;

async function installs({ machine }: ServerHost): Promise<void> {
  const given = ['/root/crt.pem', '/root/key.pem', '/root/cert.pem', '/root/key.pem'];
  const stopped = await machine.exec(typed(given), 120);
  assert.match(stopped.stdout, /CERTIFICATE_UNUSABLE|cannot be used|no such file/);
  assert.match(stopped.stdout, /Stopped\. Nothing was installed/);
  assert.equal((await machine.exec('ls /etc/platform-management /opt/platform-management')).stdout, '');
  const out = await machine.must(
    typed([...given, 'platform', `https://${serverName}`, 'backups', '/var/backups/platform']),
    600,
  );
  assert.match(out, /crt\.pem/);
  assert.match(out, /a URL such as/);
  assert.match(out, /an absolute path/);
  assert.match(out, /is installed and ready/);
  await eventually('the first backup', 120, async () =>
    (await machine.exec('ls /var/backups/platform/snapshots/*/manifest.json')).code === 0 ? true : undefined,
  );
  const [keys] = (await machine.must('cat /var/backups/platform/snapshots/*/keys.json')).split('\n');
  assert.match(keys ?? '', /release-keys\//);
  assert.equal(await machine.must('stat -c "%a %U" /var/backups/platform'), '700 root');
  assert.match(out, new RegExp(`https://${serverName}/sign-in\\?token=`));
  assert.equal(await machine.must('stat -c "%a %U" /etc/platform-management/tls/key.pem'), '600 platform-management');
  assert.equal(await machine.must('stat -c "%a %U" /etc/platform-management/runner.json'), '600 platform-runner');
  assert.match(
    await machine.must('systemd-analyze security --no-pager platform-management | tail -1'),
    /: [0-2]\.\d OK/,
  );
  const again = await machine.must(install, 600);
  assert.match(again, /Nothing changed/);
}

async function refusesBadInput({ machine }: ServerHost): Promise<void> {
  const refusal = async (command: string): Promise<string> => {
    const { code, stderr } = await machine.exec(command, 300);
    assert.notEqual(code, 0, command);
    return stderr;
  };
  const before = await machine.must('sha256sum /etc/platform-management/server.json /etc/platform-management/tls/*');
  await machine.must('openssl ecparam -name prime256v1 -genkey -noout -out /root/other.pem');
  assert.match(
    await refusal(install.replace('/root/key.pem', '/root/other.pem')),
    /CERTIFICATE_UNUSABLE.*another certificate/,
  );
  await using files = await tempFolder();
  const day = 86_400_000;
  const old = labCertificate({ from: Date.now() - 30 * day, to: Date.now() - day });
  await writeFile(files.file('old.pem'), old.cert);
  await writeFile(files.file('old-key.pem'), old.key, { mode: 0o600 });
  await machine.push('/root', files.file('old.pem'), files.file('old-key.pem'));
  assert.match(
    await refusal(install.replace('/root/cert.pem', '/root/old.pem').replace('/root/key.pem', '/root/old-key.pem')),
    /CERTIFICATE_UNUSABLE.*old\.pem.*it expired on /,
  );
  assert.match(
    await refusal('setpriv --reuid=65534 --clear-groups platform admin install-service'),
    /NEEDS_ROOT|closed to you/,
  );
  await machine.must('cmp /etc/platform-management/archive-key.pem /root/archive-key.pem');
  await machine.must('head -c 5000 /root/archive.tar.gz > /root/cut.tar.gz');
  const cut = 'platform admin upgrade /root/cut.tar.gz';
  assert.match(await refusal(cut), /ARCHIVE_UNTRUSTED.*it is not signed/);
  await machine.must('openssl genpkey -algorithm ed25519 -out /root/foreign.pem');
  await machine.must(`cd /root && ${signCommand('cut.tar.gz', 'foreign.pem')}`);
  assert.match(await refusal(cut), /ARCHIVE_UNTRUSTED.*not of the pinned key/);
  await machine.must('openssl pkey -in /root/foreign.pem -pubout -out /root/foreign-public.pem');
  assert.match(await refusal(`${cut} --trust /root/foreign-public.pem`), /ARCHIVE_UNUSABLE.*tar cannot unpack/);
  await machine.must(`cd /root && ${signCommand('cut.tar.gz', 'sign.pem')}`);
  assert.match(await refusal(cut), /ARCHIVE_UNUSABLE.*tar cannot unpack/);
  assert.match(await refusal(`echo more >> /root/cut.tar.gz; ${cut}`), /ARCHIVE_UNUSABLE.*its sha256 is/);
  assert.match(await refusal('platform admin rollback'), /NO_VERSION_BEFORE/);
  // Each takes a second; on a busy host, the second of two could begin after the end of the first.
  const atOnce = await machine.must(`(${Array.from({ length: 5 }, () => `${install} &`).join(' ')} wait) 2>&1`, 300);
  assert.match(atOnce, /INSTALLATION_IN_USE/);
  assert.match(atOnce, /Nothing changed/);
  assert.equal(
    await machine.must('sha256sum /etc/platform-management/server.json /etc/platform-management/tls/*'),
    before,
  );
}

async function keepsEditedUnit({ machine }: ServerHost): Promise<void> {
  const unit = '/etc/systemd/system/platform-management.service';
  await machine.must(`cp ${unit} /root/unit && rm ${unit} && sed 's/RestartSec=2/RestartSec=9/' /root/unit > ${unit}`);
  const { stderr } = await machine.exec(install, 300);
  assert.match(stderr, /replaced a unit\. It is kept as .*platform-management\.service\.old/);
  assert.match(await machine.must(`cat ${unit}.old`), /RestartSec=9/);
  assert.match(await machine.must('systemctl cat platform-management'), /RestartSec=2/);
}

async function upgradesAndReverts({ machine }: ServerHost): Promise<void> {
  await machine.must(derive('0.1.1'), 300);
  const newer = await upgrade(machine, '0.1.1');
  assert.match(newer.text, /Version 0\.1\.1 is installed and ready/);
  assert.doesNotMatch(newer.text, /not published/);
  assert.equal(await current(machine), '0.1.1');
  await machineOnline(machine, 'barn');

  await machine.must(derive('0.1.2', `echo 'setInterval(() => {}, 1000);' > apps/cloud/src/main.ts`), 300);
  const broken = await upgrade(machine, '0.1.2', '--ready-within 20');
  assert.match(broken.text, /SERVER_NOT_READY: Version 0\.1\.2 was not ready in time: Version 0\.1\.1 runs again/);
  assert.equal(await current(machine), '0.1.1');
  await machineOnline(machine, 'barn');

  await machine.must(derive('0.1.2-end', `echo 'throw new Error("no such module");' > apps/cloud/src/main.ts`), 300);
  const ending = await upgrade(machine, '0.1.2-end', '--ready-within 600');
  assert.match(ending.text, /SERVER_NOT_READY: Version 0\.1\.2-end.*it ended 2 times.*no such module/s);
  assert.equal(await current(machine), '0.1.1');

  await machine.must(derive('0.1.2-crash', crashOnceReady), 300);
  const crashing = await upgrade(machine, '0.1.2-crash', '--ready-within 20');
  assert.match(crashing.text, /SERVER_NOT_READY: Version 0\.1\.2-crash.*Version 0\.1\.1 runs again/);
  assert.match(crashing.text, /it was ready for \d+ s, and not longer/);
  assert.equal(await current(machine), '0.1.1');
  await machineOnline(machine, 'barn');
}

async function returnsToVersionBefore({ machine }: ServerHost): Promise<void> {
  assert.match(await machine.must('platform admin rollback', 300), /Version 0\.1\.0 is in use again/);
  await machineOnline(machine, 'barn');
  await machine.must(derive('0.1.3', newMigrations('later')), 300);
  assert.match((await upgrade(machine, '0.1.3')).text, /Version 0\.1\.3 is installed and ready/);
  await machine.must('platform machine create shed -o /root/shed.json');
  const { stderr } = await machine.exec('platform admin rollback', 300);
  const [, since = ''] = /--discard-changes-since (\S+Z)/.exec(stderr) ?? [];
  assert.match(stderr, /ROLLBACK_LOSES_DATA: Version 0\.1\.0 cannot read/);
  assert.match(
    await machine.must(`platform admin rollback --discard-changes-since ${since}`, 300),
    /0\.1\.0 is in use/,
  );
  const machines = await machine.must('platform machine list --json');
  assert.match(machines, /"barn"/);
  assert.doesNotMatch(machines, /"shed"/);
  await machineOnline(machine, 'barn');
}

/** All processes end in this stage of an upgrade; after the start the switch ends by itself. */
async function survivesPowerCut(
  host: ServerHost,
  { version, stage, tables }: { version: string; stage: string; tables: string[] },
): Promise<void> {
  const { machine } = host;
  await machine.must(derive(version, newMigrations(...tables)), 300);
  await machine.must(`nohup platform admin upgrade /root/${version}.tar.gz >/root/upgrade.log 2>&1 &`);
  const file = '/var/lib/platform-management/installation/switch.json';
  await eventually(`stage ${stage}`, 200, async () =>
    (await machine.exec(`grep -q '"stage": "${stage}"' ${file}`)).code === 0 ? true : undefined,
  );
  await machine.kill();
  await host.up();
  await eventually('the end of the switch', 300, async () =>
    (await machine.exec(`test ! -e ${file} && curl -fs http://127.0.0.1:443/readyz`)).code === 0 ? true : undefined,
  );
  assert.equal(await current(machine), version);
  await machineOnline(machine, 'barn');
}

async function uninstallsAndFindsData({ machine }: ServerHost): Promise<void> {
  const version = await current(machine);
  assert.match(await machine.must('platform admin uninstall-service', 120), /data in \/var\/lib\/platform-management/);
  const left = await machine.exec('ls -d /opt/platform-management* /etc/systemd/system/platform-management*');
  assert.equal(left.stdout.trim(), '/etc/systemd/system/platform-management.service.old', 'the unit of a user stays');
  assert.equal((await machine.exec('pgrep -u platform-management')).stdout, '');
  await machine.must(
    `cd /root && rm -rf archive && mkdir archive && tar -xzf ${version}.tar.gz -C archive --strip-components=1`,
  );
  assert.match(await machine.must(service('install-service'), 600), /is installed and ready/);
  assert.match(await machine.must('platform machine list --json'), /"barn"/);
  await machineOnline(machine, 'barn');
}

/** As docs/operations/restore.md says. */
async function survivesLossOfDisk({ machine }: ServerHost): Promise<void> {
  await machine.must('platform admin backup /root/backup && platform admin verify /root/backup', 300);
  await machine.must('cp /etc/platform-management/backup-key.json /root/backup-key.json');
  await machine.must('platform admin uninstall-service --delete-data', 120);
  const left =
    'ls -d /opt/platform-management /etc/platform-management /var/lib/platform-management; id platform-runner';
  assert.equal((await machine.exec(left)).stdout, '');
  await machine.must(install, 600);
  const damaged = await machine.exec(
    'cp -a /root/backup /root/cut && truncate -s 100 /root/cut/snapshots/*/database/part.* && platform admin restore /root/cut --replace --backup-key /root/backup-key.json',
    300,
  );
  assert.match(damaged.stderr, /BACKUP_DAMAGED/);
  assert.match(damaged.stderr, /Nothing was replaced/);
  assert.match(await machine.must('platform machine list'), /No machine yet/);
  const unproven = await machine.exec('platform admin restore /root/backup --replace --yes', 300);
  assert.match(unproven.stderr, /BACKUP_NOT_AUTHENTICATED/, 'this is a new host');
  const replaced = await machine.exec(
    'platform admin restore /root/backup --replace --backup-key /root/backup-key.json',
    600,
  );
  assert.match(replaced.stdout, /The data before are in \/var\/lib\/platform-management\/installation\/replaced/);
  assert.equal(replaced.code, 0, replaced.stderr);
  await machineOnline(machine, 'barn');
  assert.equal(await machine.must('systemctl show -P Result platform-management-maintenance'), 'success');
  await eventually('the runner is online', 60, async () =>
    /"online": ?true/.test((await machine.exec('platform runner list --json')).stdout) ? true : undefined,
  );
  await machine.must(`echo '127.0.0.1 ${serverName}' >> /etc/hosts`);
  const { stdout: report } = await machine.exec('platform admin doctor');
  assert.doesNotMatch(report, /^FAIL/m, report);
}

/** One command brings back what was lost with the disk of the state; programs and settings are still there. */
async function survivesLossOfState({ machine }: ServerHost): Promise<void> {
  await machine.must('platform admin backup /root/backup', 300);
  const lost = 'platform-management platform-management-runner';
  await machine.must(`systemctl kill -s KILL ${lost}; systemctl stop ${lost}; rm -rf /var/lib/platform-management`);
  const restored = await machine.exec('platform admin restore /root/backup --replace --yes', 600);
  assert.equal(restored.code, 0, restored.stderr);
  assert.match(await machine.must('platform machine list --json'), /"barn"/);
  await machineOnline(machine, 'barn');
  assert.equal(await machine.must(`systemctl is-active ${lost} | sort -u`), 'active');
  assert.equal(await machine.must('systemctl show -P Result platform-management-maintenance'), 'success');
  assert.equal(await machine.must('stat -c "%a %U" /var/lib/platform-management/runner'), '700 platform-runner');
  assert.match(await machine.must('platform sign-in'), new RegExp(`https://${serverName}/sign-in`));
}

/** All processes end while restored data come into use; after the start, the replacement ends by itself. */
async function survivesPowerCutOfRestore(host: ServerHost): Promise<void> {
  const { machine } = host;
  await machine.must('platform machine create later -o /root/later.json');
  await machine.must(`nohup platform admin restore /root/backup --replace --yes >/root/restore.log 2>&1 &`);
  const file = '/var/lib/platform-management/installation/replacing.json';
  // It may be there for some milliseconds only: the machine itself looks, without a pause.
  const isBegun = await machine.exec(
    `timeout 200 sh -c 'until test -e ${file}; do :; done' || cat /root/restore.log`,
    240,
  );
  assert.equal(isBegun.stdout, '', 'the restore has not begun to replace the folders');
  await machine.kill();
  await host.up();
  await eventually('the end of the replacement', 300, async () =>
    (await machine.exec(`test ! -e ${file} && curl -fs http://127.0.0.1:443/readyz`)).code === 0 ? true : undefined,
  );
  const machines = await machine.must('platform machine list --json');
  assert.match(machines, /"barn"/);
  assert.doesNotMatch(machines, /"later"/, 'the restored data are in use');
  await machineOnline(machine, 'barn');
}

test('story: the server as a service', { timeout: 3_600_000 }, async (t) => {
  const archive = await signedArchive();
  await using host = await startServerHost();
  const { machine } = host;
  await machine.push('/root', ...archive.files, archive.key);
  await machine.must(
    `mv /root/${archive.name} /root/archive.tar.gz; mkdir ${unpacked} && tar -xzf /root/archive.tar.gz -C ${unpacked} --strip-components=1`,
    300,
  );
  await t.test('install, and again', () => installs(host));
  await using barn = await container(host.port);
  await t.test('a machine installs its agent by the printed line', async () => {
    const made = JSON.parse(await machine.must('platform machine create barn --json')) as {
      credentials: object;
      install_script_command: string;
    };
    await barn.must(`umask 077; echo '${JSON.stringify(made.credentials)}' > /etc/platform.json`);
    await eventually('the machine reaches the server', 120, async () =>
      (await barn.exec(`curl -fsSk -o /dev/null https://${serverName}/livez`)).code === 0 ? true : undefined,
    );
    await barn.must(`${made.install_script_command} | sh`, 600);
    await machineOnline(machine, 'barn', 300);
  });
  await t.test('bad input changes nothing', () => refusesBadInput(host));
  await t.test('an edited unit is kept', () => keepsEditedUnit(host));
  await t.test('all processes killed, started again', async () => {
    await machine.kill();
    await host.up();
    await machineOnline(machine, 'barn', 300);
  });
  await t.test('upgrade; a version that is never ready is reverted', () => upgradesAndReverts(host));
  await t.test('return to the version before, with and without a newer schema', () => returnsToVersionBefore(host));
  await t.test('a power cut while the data are saved', () =>
    survivesPowerCut(host, { version: '0.1.4', stage: 'prepare', tables: ['a'] }),
  );
  await t.test('a power cut while the new version is on trial', () =>
    survivesPowerCut(host, { version: '0.1.5', stage: 'trial', tables: ['a', 'b'] }),
  );
  await t.test('uninstall keeps the data, install finds them', () => uninstallsAndFindsData(host));
  await t.test('the disk is lost: install, restore, and the machine comes back', () => survivesLossOfDisk(host));
  await t.test('the state folder is lost: one command restores it', () => survivesLossOfState(host));
  await t.test('a power cut while restored data come into use', () => survivesPowerCutOfRestore(host));
});
