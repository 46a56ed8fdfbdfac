import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import test from 'node:test';
import { installScriptCommand } from '@platform/contract/provisioning/install-command';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { renderInstaller } from '../src/releases/rules/installer.ts';
import {
  agentProgram,
  type Ended,
  machineAt,
  machineHost,
  makeCertificate,
  publishAgent,
} from './installer-machine.ts';
import { testServer } from './server.ts';

const template = path.resolve(import.meta.dirname, '../install/install.sh');
const work = '/opt/platform/cache/install';

test('install.sh over TLS to a name: after each way to fail, the right line installs', async (t) => {
  await using folder = await tempFolder();
  await makeCertificate(folder, 'server', '20200101000000Z', '21200101000000Z');
  await using on = await testServer(['--tls-cert', folder.file('server.cert'), '--tls-key', folder.file('server.key')]);
  const sha256 = await publishAgent(on, '1.2.3');
  const program = agentProgram('1.2.3');
  const port = Number(new URL(on.url).port);
  const server = `https://${machineHost}:${port}`;
  await using machine = await machineAt(port, folder.file('server.authority'));
  const { partId } = await on.machine('m');
  const right = { PLATFORM_API_KEY_ID: on.owner.entity, PLATFORM_API_KEY: on.owner.payload, PLATFORM_PART_ID: partId };
  const words = (values: Partial<typeof right> = {}): string =>
    Object.entries({ ...right, ...values })
      .map(([name, value]) => `${name}=${value}`)
      .join(' ');
  /** The command line that the machine's page shows. */
  const line = (values: Partial<typeof right> = {}): string =>
    `/bin/sh -c "${words(values)}; $(${installScriptCommand(server, undefined)})"`;
  const piped = (more: string, shell = 'sh'): string =>
    `${installScriptCommand(server, undefined)} | env ${words()} ${shell} -s -- ${more}`;

  const installs = async (done: Promise<Ended>): Promise<void> => {
    const { code, stdout, stderr } = await done;
    assert.deepEqual([code, /^installed 1\.2\.3$/m.test(stdout)], [0, true], `${stdout}${stderr}`);
    const { cloud } = JSON.parse(readFileSync(machine.file('/etc/platform.json'), 'utf8')) as {
      cloud: { id: string; app_address: string };
    };
    assert.deepEqual([cloud.id, cloud.app_address], [partId, server]);
    assert.equal(existsSync(machine.file(`${work}/platform-agent`)), false);
  };
  /** Simulates the remains of an earlier attempt with the same version. */
  const leave = async (bytes: string): Promise<void> => {
    await mkdir(machine.file(work), { recursive: true });
    writeFileSync(machine.file(`${work}/platform-agent`), bytes);
    writeFileSync(machine.file(`${work}/part`), `${sha256}\n`);
  };

  await t.test('a typo in the key, in the part', async () => {
    for (const shell of ['sh', 'busybox sh', 'bash'] as const) {
      await machine.clear();
      const wrong = await machine.run(piped('', shell).replace(on.owner.payload, 'typo'));
      assert.equal(wrong.code, 2, wrong.stderr);
      assert.match(wrong.stderr, /"platform-agent install" ended with 1/);
      await installs(machine.run(piped('', shell)));
    }
    await machine.clear();
    assert.equal((await machine.run(line({ PLATFORM_API_KEY: 'typo' }))).code, 2);
    assert.equal((await machine.run(line({ PLATFORM_PART_ID: 'typo' }))).code, 2);
    await installs(machine.run(line()));
    // The previous run installed it already.
    await installs(machine.run(line()));
  });

  const failures: [name: string, command: string, code: number, says: RegExp, options?: { curl: string[] }][] = [
    ['an unknown version', piped('--version 9.9.9'), 1, /no platform-agent 9\.9\.9/],
    ['an unknown channel', piped('--version dev'), 1, /in the channel dev/],
    ['a typo in the name', piped('--server https://plattform.example.invalid'), 2, /could not be resolved/],
    [
      'a closed port',
      piped(`--server https://${machineHost}:1`),
      2,
      /curl (6|7)\)/,
      { curl: [`resolve = "${machineHost}:1:127.0.0.1"`] },
    ],
    [
      'a proxy that is not there',
      piped('').replace('env ', 'env https_proxy=http://127.0.0.1:1 '),
      2,
      /curl 7\).*proxy/,
    ],
    ['another path', piped(`--server ${server}/elsewhere`), 2, /answered with an error|not signed/],
    ['no consent to an agent from elsewhere', piped(`--url ${server}/healthz`), 1, /is not signed by the server/],
    [
      'an agent with another hash',
      piped(`--url ${server}/install.sh --sha256 ${'0'.repeat(64)}`),
      3,
      /should have 0{64}/,
    ],
    ['two of three variables', piped('').replace(/PLATFORM_PART_ID=\S+/, ''), 1, /not set: PLATFORM_PART_ID/],
  ];
  for (const [name, command, code, says, options] of failures) {
    await t.test(name, async () => {
      await machine.clear();
      const done = await machine.run(command, options);
      assert.equal(done.code, code, `${done.stdout}${done.stderr}`);
      assert.match(done.stderr, says);
      await installs(machine.run(line()));
    });
  }

  const leftovers: [name: string, bytes: string][] = [
    ['the whole file', program],
    ['half of it', program.slice(0, 1_000_000)],
    ['half of it, torn', `${program.slice(0, 50_000)}${'\0'.repeat(50_000)}`],
    ['as much of zeros', '\0'.repeat(program.length)],
    ['more than it', `${program}more`],
    ['nothing', ''],
  ];
  for (const [name, bytes] of leftovers) {
    await t.test(`an attempt that was cut off left ${name}`, async () => {
      await machine.clear();
      await leave(bytes);
      await installs(machine.run(line()));
    });
  }

  await t.test('kill −9 in the middle of the download', async () => {
    await machine.clear();
    const part = machine.file(`${work}/platform-agent`);
    const until = (async () => {
      while ((statSync(part, { throwIfNoEntry: false })?.size ?? 0) < 20_000) await systemClock.sleep(5);
    })();
    assert.equal((await machine.run(line(), { curl: ['limit-rate = 400k'], until })).code, null);
    assert.ok(statSync(part).size < program.length, `${statSync(part).size} bytes`);
    await installs(machine.run(line()));
  });

  await t.test('a system that does not trust the authority: it says that the clock is not the reason', async () => {
    await machine.clear();
    const script = await machine.run(`curl -fsSL ${server}/install.sh`);
    writeFileSync(machine.file('/opt/install.sh'), script.stdout);
    await using untrusting = await machineAt(port, '');
    writeFileSync(untrusting.file('/opt/install.sh'), script.stdout);
    const done = await untrusting.run(`env ${words()} sh /opt/install.sh`);
    assert.equal(done.code, 2, done.stderr);
    assert.match(done.stderr, /The clock fits the certificate\. If its authority is your own, put that into the store/);
    assert.match(done.stderr, /certificate: from Jan {2}1 00:00:00 2020 GMT until Jan {2}1 00:00:00 2120 GMT/);
    assert.doesNotMatch(done.stderr, /date -u -s/);
    await installs(machine.run(`env ${words()} sh /opt/install.sh`));
  });

  await t.test('without openssl: by https the script knows the checksum, by http it refuses', async () => {
    const hidden = ['/usr/bin/openssl'];
    await machine.clear();
    await installs(machine.run(line(), { hidden }));
    await machine.clear();
    await leave(`${program}more`);
    await installs(machine.run(line(), { hidden }));
    await machine.clear();
    const other = piped('').replace('| env', `| sed "s/${sha256}/${'0'.repeat(64)}/" | env`);
    const changed = await machine.run(other, { hidden });
    assert.deepEqual([changed.code, changed.stdout.includes('installed')], [3, false], changed.stderr);
    const unknown = await machine.run(piped('--version 9.9.9'), { hidden });
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /only the versions of the channels can be checked: install the package "openssl"/);
    const plain = await machine.run(piped('').replace('https:', 'http:'), { hidden });
    assert.equal(plain.code, 1);
    assert.match(plain.stderr, /openssl is missing, and only an address with https can do without/);
    await installs(machine.run(line()));
  });
});

const clocks: [name: string, from: string, until: string, says: RegExp][] = [
  [
    'behind',
    '20510102000000Z',
    '20600101000000Z',
    /certificate: from Jan {2}2 00:00:00 2051 GMT until Jan {2}1 00:00:00 2060 GMT/,
  ],
  [
    'ahead',
    '20000102000000Z',
    '20010101000000Z',
    /certificate: from Jan {2}2 00:00:00 2000 GMT until Jan {2}1 00:00:00 2001 GMT/,
  ],
];
for (const [name, from, until, says] of clocks) {
  test(`install.sh on a machine whose clock is ${name}: both clocks, the dates of the certificate, the command`, async () => {
    await using folder = await tempFolder();
    await makeCertificate(folder, 'server', from, until);
    const [cert, key] = ['cert', 'key'].map((file) => readFileSync(folder.file(`server.${file}`)));
    const moment = 'Tue, 07 Feb 2051 08:09:10 GMT';
    const server = createServer({ cert, key }, (_, response) => void response.writeHead(404, { date: moment }).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await using machine = await machineAt(port, folder.file('server.authority'));
    const values = {
      url: `https://${machineHost}:${port}`,
      releaseKey: 'key',
      trustedRoot: undefined,
      channels: { stable: '1.2.3' },
      agents: [],
      authority: '',
      action: 'install',
    } as const;
    writeFileSync(machine.file('/opt/install.sh'), renderInstaller(readFileSync(template, 'utf8'), values));
    const words = 'PLATFORM_API_KEY_ID=a PLATFORM_API_KEY=secret-of-a-key PLATFORM_PART_ID=c';
    const [before, done, after] = [Date.now(), await machine.run(`env ${words} sh /opt/install.sh`), Date.now()];
    server.closeAllConnections();
    server.close();
    assert.equal(done.code, 2, done.stderr);
    const clock = Date.parse(/clock here: {2}(.*)$/m.exec(done.stderr)?.[1] ?? '');
    assert.ok(clock >= before - 1000 && clock <= after, done.stderr);
    assert.match(done.stderr, says);
    assert.match(done.stderr, /server says: Tue, 07 Feb 2051 08:09:10 GMT \(unproven\)/);
    assert.match(done.stderr, /a clock that you trust, in UTC/);
    assert.match(done.stderr, /^ {2}sudo date -u -s 'YYYY-MM-DD HH:MM:SS'$/m);
    assert.doesNotMatch(done.stderr, /date -u -s '\d/, 'no command with a time that is not proven');
    for (const program of ['date', 'busybox date'])
      assert.equal(
        (await machine.run(`${program} -u -d '2051-02-07 08:09:10' +%s`)).stdout.trim(),
        String(Date.parse(moment) / 1000),
        'each date program takes this form',
      );
    assert.doesNotMatch(done.stderr, /secret-of-a-key/);
  });
}
