// The management server as a service, from its archive and without a network, on a Debian with systemd; a machine that
// it manages stays online through everything that happens to the server.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { container, eventually, type LabMachine, serverName } from '../lab/machine.ts';
import { buildArchive, type ServerHost, startServerHost } from '../lab/server-host.ts';

const unpacked = '/root/archive';
const service = (command: string): string => `${unpacked}/platform admin ${command}`;
const install = service(
  `install-service --tls-cert /root/cert.pem --tls-key /root/key.pem --public-url https://${serverName}`,
);

/** An archive with another version: `change` is a shell command in its folder. */
const derive = (version: string, change = 'true'): string =>
  `cd /root && rm -rf next && cp -a archive next && cd next && sed -i 's/"version": "[^"]*"/"version": "${version}"/' release.json package.json && ` +
  `${change} && cd .. && tar -czf ${version}.tar.gz next && rm -rf next`;

const current = (on: LabMachine): Promise<string> => on.must('readlink /opt/platform-management/current');
const newMigration = (table: string): string =>
  `echo "create table ${table} (id int);" > apps/cloud/src/database/migrations/9999_${table}.sql`;

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

async function installs({ machine }: ServerHost): Promise<void> {
  const out = await machine.must(install, 600);
  assert.match(out, /is installed and ready/);
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
  await machine.must(
    'openssl req -x509 -key /root/other.pem -subj /CN=old -days 1 -out /root/old.pem -not_before 20200101000000Z -not_after 20200102000000Z 2>/dev/null || ' +
      'faketime 2020-01-01 openssl req -x509 -key /root/other.pem -subj /CN=old -days 1 -out /root/old.pem || cp /root/cert.pem /root/old.pem',
  );
  assert.match(
    await refusal(install.replace('/root/cert.pem', '/root/old.pem').replace('/root/key.pem', '/root/other.pem')),
    /CERTIFICATE_UNUSABLE/,
  );
  assert.match(
    await refusal('setpriv --reuid=65534 --clear-groups platform admin install-service'),
    /NEEDS_ROOT|closed to you/,
  );
  assert.match(
    await refusal('head -c 5000 /root/archive.tar.gz > /root/cut.tar.gz; platform admin upgrade /root/cut.tar.gz'),
    /ARCHIVE_UNUSABLE.*tar cannot unpack/,
  );
  assert.match(await refusal('platform admin rollback'), /NO_VERSION_BEFORE/);
  const both = `(${install} & ${install}; wait) 2>&1 | grep -c INSTALLATION_IN_USE`;
  assert.equal(await machine.must(both, 300), '1');
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
  assert.match((await upgrade(machine, '0.1.1')).text, /Version 0\.1\.1 is installed and ready/);
  assert.equal(await current(machine), '0.1.1');
  await machineOnline(machine, 'barn');

  await machine.must(derive('0.1.2', `echo 'setInterval(() => {}, 1000);' > apps/cloud/src/main.ts`), 300);
  const broken = await upgrade(machine, '0.1.2', '--ready-within 20');
  assert.match(broken.text, /SERVER_NOT_READY: Version 0\.1\.2 was not ready in time: Version 0\.1\.1 runs again/);
  assert.equal(await current(machine), '0.1.1');
  await machineOnline(machine, 'barn');
}

async function returnsToVersionBefore({ machine }: ServerHost): Promise<void> {
  assert.match(await machine.must('platform admin rollback', 300), /Version 0\.1\.0 is in use again/);
  await machineOnline(machine, 'barn');
  await machine.must(derive('0.1.3', newMigration('later')), 300);
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
async function survivesPowerCut(host: ServerHost, version: string, stage: string): Promise<void> {
  const { machine } = host;
  await machine.must(derive(version, newMigration(`cut_${stage}`)), 300);
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
  assert.equal((await machine.exec('ls /opt/platform-management /etc/systemd/system/platform-management*')).stdout, '');
  assert.equal((await machine.exec('pgrep -u platform-management')).stdout, '');
  await machine.must(
    `cd /root && rm -rf archive && mkdir archive && tar -xzf ${version}.tar.gz -C archive --strip-components=1`,
  );
  assert.match(await machine.must(service('install-service'), 600), /is installed and ready/);
  assert.match(await machine.must('platform machine list --json'), /"barn"/);
  await machineOnline(machine, 'barn');
}

test('story: the server as a service', { timeout: 3_600_000 }, async (t) => {
  await using folder = await tempFolder();
  const archive = await buildArchive('0.1.0', folder.path);
  await using host = await startServerHost();
  const { machine } = host;
  await machine.push('/root', archive.file);
  await machine.must(
    `mv /root/${path.basename(archive.file)} /root/archive.tar.gz; mkdir ${unpacked} && tar -xzf /root/archive.tar.gz -C ${unpacked} --strip-components=1`,
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
  await t.test('a power cut while the data are saved', () => survivesPowerCut(host, '0.1.4', 'prepare'));
  await t.test('a power cut while the new version is on trial', () => survivesPowerCut(host, '0.1.5', 'trial'));
  await t.test('uninstall keeps the data, install finds them', () => uninstallsAndFindsData(host));
});
