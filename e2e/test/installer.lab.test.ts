// The installer's script on a machine with systemd, against a server that sends wrong, truncated or failed answers. It
// starts a stand-in that records how it was started; install.lab.test.ts installs the real agent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeFile } from 'node:fs/promises';
import { tempFolder } from '@platform/kit/testing';
import { container } from '../lab/machine.ts';
import { startReleaseServer, sha256 } from '../lab/release-server.ts';

const ids = 'PLATFORM_API_KEY_ID=kid PLATFORM_API_KEY=secret PLATFORM_PART_ID=part';
const ranWith = (more = ''): string =>
  `install --url https://app.platform.test --config /etc/platform.json --root /opt/platform${more}`;
const authorityFlag = ' --authority /opt/platform/cache/install/authority.pem';
const rootFlag = ` --trusted-root /opt/platform/cache/install/root.json${authorityFlag}`;

test('install.sh', { timeout: 600_000 }, async (t) => {
  await using server = await startReleaseServer();
  await using machine = await container(server.port, server.plainPort);
  await using folder = await tempFolder();
  const put = async (name: string, content: string | Uint8Array): Promise<void> => {
    await writeFile(folder.file(name), content);
    await machine.push('/srv', folder.file(name));
  };
  await put('install.sh', server.script());
  await put('other-key.sh', server.script({ key: (await otherKey()).trim() }));
  await put('no-release.sh', server.script({ key: '' }));
  await put('SHA256SUMS', server.list);
  await put('SHA256SUMS.sig', server.signature);
  await put('agent', server.agent);
  await put('other', 'something else');

  /** Runs it on a machine without an installation. @returns its output and what it started. */
  const install = async (command: string) => {
    server.requests.length = 0;
    await machine.must('rm -rf /opt/platform /run/ran');
    const result = await machine.exec(command);
    const ran = await machine.exec('cat /run/ran');
    return { ...result, ran: ran.code === 0 ? ran.stdout : undefined };
  };
  const goesWell = async (command: string): Promise<string> => {
    const { code, stdout, stderr, ran } = await install(command);
    assert.equal(code, 0, `${stdout}${stderr}`);
    assert.ok(ran !== undefined, 'nothing was started');
    return ran;
  };
  const ends = async (command: string, code: 1 | 2 | 3, message: RegExp): Promise<void> => {
    const done = await install(command);
    assert.deepEqual({ code: done.code, ran: done.ran }, { code, ran: undefined }, `${done.stdout}${done.stderr}`);
    assert.match(done.stderr, message);
  };

  await t.test('the one-liner of the specification', async () => {
    const ran = await goesWell(`/bin/sh -c "${ids}; $(${server.scriptCommand})"`);
    assert.equal(
      ran,
      `arguments: ${ranWith(rootFlag)}\npart: part kid secret\nurl: https://app.platform.test\nproxy: \nstdin: 0\n`,
    );
    // Its temporary files are gone.
    assert.equal((await machine.exec('ls -A /opt/platform/cache')).stdout, '');
  });

  await t.test('piped into each shell, with flags', async () => {
    for (const shell of ['sh', 'busybox sh', 'bash'])
      assert.match(
        await goesWell(`${server.scriptCommand} | env ${ids} ${shell} -s -- --no-start`),
        new RegExp(`^arguments: ${ranWith(rootFlag)} --no-start$`, 'm'),
      );
  });

  await t.test('with a credentials file and no key', async () => {
    await machine.must('echo "{}" > /etc/platform.json');
    assert.match(await goesWell('sh /srv/install.sh'), /^part: {3}$/m);
    await machine.must('rm /etc/platform.json');
  });

  await t.test('a version: pinned, of a channel, unknown', async () => {
    await goesWell(`${ids} sh /srv/install.sh --version 1.2.3`);
    await ends(`${ids} sh /srv/install.sh --version 9.9.9`, 1, /no platform-agent 9\.9\.9 for linux-amd64/);
    await ends(`${ids} PLATFORM_AGENT_VERSION=nightly sh /srv/install.sh`, 1, /in the channel nightly/);
  });

  await t.test('a download that is cut goes on where it stopped', async () => {
    let cuts = 0;
    server.intercept = (request, response) => {
      if (!request.url?.endsWith('/platform-agent') || cuts === 2) return false;
      const from = Number(/\d+/.exec(request.headers.range ?? '')?.[0] ?? 0);
      cuts++;
      const rest = Buffer.from(server.agent).subarray(from);
      response.writeHead(from === 0 ? 200 : 206, {
        'content-length': rest.length,
        ...(from > 0 && { 'content-range': `bytes ${from}-${from + rest.length - 1}/${from + rest.length}` }),
      });
      response.write(rest.subarray(0, 60_000), () => response.destroy());
      return true;
    };
    await goesWell(`${ids} sh /srv/install.sh`);
    assert.deepEqual(
      server.requests.filter((line) => line.includes('/platform-agent')).map((line) => line.split(' ')[2] ?? ''),
      ['', 'bytes=60000-', 'bytes=120000-'],
    );
    server.intercept = () => false;
  });

  await t.test('requests to a busy server are repeated', async () => {
    let times = 0;
    server.intercept = (_, response) => {
      if (times++ % 2 === 1) return false;
      response.writeHead(503).end();
      return true;
    };
    await goesWell(`${ids} sh /srv/install.sh`);
    server.intercept = () => false;
  });

  await t.test('what was changed on its way is never run', async () => {
    await ends(`${ids} sh /srv/other-key.sh`, 3, /not signed by the key of this server.*\nNothing was run/s);
    await ends(`${ids} sh /srv/install.sh --version 1.2.2`, 3, /should have [0-9a-f]{64}\. It was removed/);
    const change = (suffix: string, body: string) => {
      server.intercept = (request, response) => {
        if (!request.url?.endsWith(suffix)) return false;
        response.end(body);
        return true;
      };
    };
    change('/SHA256SUMS', `${server.list}${sha256('evil')}  platform-agent/9.9.9/linux-amd64/platform-agent\n`);
    await ends(`${ids} sh /srv/install.sh --version 9.9.9`, 3, /not signed/);
    change('/SHA256SUMS.sig', '');
    await ends(`${ids} sh /srv/install.sh`, 3, /not signed/);
    change('/platform-agent', '#!/bin/sh\ntouch /run/ran\n');
    await ends(`${ids} sh /srv/install.sh`, 3, /what was downloaded has the sha256/);
    assert.equal((await machine.exec('ls /opt/platform/cache/install/platform-agent')).code, 2);
    change('.root.json', '{"signed":"by another author"}');
    await ends(`${ids} sh /srv/install.sh`, 3, /4\.root\.json is not the root document/);
    server.intercept = () => false;
  });

  await t.test('a server that has nothing, or is not there', async () => {
    await ends(`${ids} sh /srv/no-release.sh`, 1, /has not published a release yet/);
    await ends(`${ids} sh /srv/install.sh --server http://no.such.platform.example`, 2, /could not be resolved/);
    server.intercept = (_, response) => {
      response.writeHead(404).end();
      return true;
    };
    await ends(`${ids} sh /srv/install.sh`, 2, /SHA256SUMS could not be downloaded \(curl 22\)/);
    server.intercept = () => false;
  });

  await t.test('without a network', async () => {
    const files = '--binary /srv/agent --sums /srv/SHA256SUMS --sig /srv/SHA256SUMS.sig';
    await machine.must('echo "{}" > /etc/platform.json');
    await machine.link(false);
    assert.match(
      await goesWell(`sh /srv/install.sh ${files}`),
      new RegExp(`^arguments: ${ranWith(authorityFlag)} --offline$`, 'm'),
    );
    await ends(`sh /srv/install.sh ${files.replace('/agent', '/other')}`, 3, /is not a platform-agent for linux-amd64/);
    await ends(`sh /srv/install.sh --binary /srv/agent`, 1, /--binary needs --sums/);
    await machine.must('rm /etc/platform.json');
    await ends(`${ids} sh /srv/install.sh ${files}`, 1, /can't be fetched: copy the credentials file/);
    await machine.link(true);
  });

  await t.test('an agent from elsewhere needs a word of consent', async () => {
    const url = '--url https://app.platform.test/elsewhere/agent';
    await ends(`${ids} sh /srv/install.sh ${url}`, 1, /is not signed by the server/);
    await ends(`${ids} sh /srv/install.sh ${url} --sha256 ${sha256('x')}`, 3, /should have/);
    assert.match(await goesWell(`${ids} sh /srv/install.sh ${url} --sha256 ${sha256(server.agent)}`), / --unsigned$/m);
    assert.match(await goesWell(`${ids} sh /srv/install.sh --url file:///srv/agent --unsigned`), / --unsigned$/m);
  });

  await t.test('a proxy is used, and passed to the agent', async () => {
    const proxy = 'http_proxy=http://192.168.60.1:80';
    // Only the proxy resolves the name.
    const ran = await goesWell(`${ids} ${proxy} sh /srv/install.sh --server http://behind.the.proxy`);
    assert.match(ran, /^proxy: http:\/\/192\.168\.60\.1:80$/m);
  });

  await t.test('a machine that does not fit is left alone', async () => {
    const hidden = (what: string) => `unshare -m sh -c 'mount --bind /dev/null ${what}; ${ids} sh /srv/install.sh'`;
    await ends('sh /srv/install.sh', 1, /this machine has no credentials/);
    await ends('PLATFORM_API_KEY_ID=x PLATFORM_PART_ID=y sh /srv/install.sh', 1, /not set: PLATFORM_API_KEY\./);
    await ends(`setpriv --reuid=65534 --clear-groups env ${ids} sh /srv/install.sh`, 1, /must run as root/);
    await ends(
      `unshare -m sh -c 'mount -t tmpfs t /run/systemd; ${ids} sh /srv/install.sh'`,
      1,
      /systemd does not run/,
    );
    await ends(hidden('/usr/bin/curl'), 1, /curl is missing: install the package/);
    await ends(hidden('/usr/bin/openssl'), 1, /openssl is missing/);
    await ends(
      `unshare -m sh -c 'mount -t tmpfs -o size=100m t /opt; ${ids} sh /srv/install.sh'`,
      1,
      /\/opt has 100 MiB free, and 450 are needed/,
    );
    // Simulates a 64-bit kernel with a 32-bit system.
    await ends(`sed s/ld-linux-x86-64/ld-linux-i386/ /srv/install.sh | env ${ids} sh`, 1, /is not a 64-bit one/);
    await machine.must('touch /etc/systemd/system/viam-agent.service');
    await ends(`${ids} sh /srv/install.sh`, 1, /viam-agent\.service is installed here already/);
    assert.match(await goesWell(`${ids} FORCE=1 sh /srv/install.sh`), / --force --replace$/m);
    await machine.must('rm /etc/systemd/system/viam-agent.service');
    assert.equal((await machine.exec('ls -A /opt')).stdout.trim(), 'platform');
  });
});

async function otherKey(): Promise<string> {
  await using other = await startReleaseServer();
  return /release_key='([^']*)'/.exec(other.script())?.[1] ?? '';
}
