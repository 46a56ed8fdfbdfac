// `platform-agent provision --code` as a process, against servers with an authority of their own and without.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import {
  agentVersionHeader,
  codeHeader,
  fingerprintLetters,
  fragmentHeader,
  redeemPath,
} from '@platform/contract/provisioning/set-up-code';
import { spawnGroup, systemClock } from '@platform/kit/node';
import { issue, tempFolder } from '@platform/kit/testing';
import { controlOf } from '../src/control/client.ts';
import { freePort } from './endpoints-rig.ts';
import { command, mainFile } from './running-agent.ts';

const hour = 3_600_000;
const validity = { from: Date.now() - hour, to: Date.now() + hour };
const newAuthority = (name: string) => {
  const authority = issue({ name, ...validity, authority: true, keyUsage: [5, 6] });
  return { ...authority, site: issue({ name: 'localhost', ...validity, by: authority, dns: ['localhost'] }) };
};
const own = newAuthority('Authority of a barn');
const fingerprint = fingerprintLetters(createHash('sha256').update(own.cert).digest('hex'));

/** A management server that knows one code. `claims`: the authority that it shows to all clients. */
async function server(of: { tls?: ReturnType<typeof newAuthority>; claims?: string; port?: number }) {
  const seen: { code: string; version: string; fragment: string }[] = [];
  const at = { url: '' };
  const answer: http.RequestListener = (request, response) => {
    if (request.url === '/authority.pem') return void response.writeHead(of.claims ? 200 : 404).end(of.claims);
    if (request.url !== redeemPath) return void response.writeHead(503).end();
    const [code = '', version = '', fragment = ''] = [codeHeader, agentVersionHeader, fragmentHeader].map((name) =>
      String(request.headers[name] ?? ''),
    );
    seen.push({ code, version, fragment });
    if (code !== 'ABCDEFGH') return void response.writeHead(404).end('{"message":"SET_UP_CODE_INVALID"}');
    response.end(JSON.stringify({ cloud: { app_address: at.url, id: 'part-1', secret: 'secret-1' } }));
  };
  const one = of.tls
    ? https.createServer({ cert: of.tls.site.cert, key: of.tls.site.key }, answer)
    : http.createServer(answer);
  one.listen(of.port ?? 0, '127.0.0.1');
  await once(one, 'listening');
  at.url = `${of.tls ? 'https' : 'http'}://localhost:${(one.address() as AddressInfo).port}`;
  return {
    url: at.url,
    seen,
    async [Symbol.asyncDispose]() {
      one.closeAllConnections();
      one.close();
      await once(one, 'close');
    },
  };
}

/** A machine without credentials. */
async function machine() {
  const folder = await tempFolder();
  const [config, root] = [folder.file('platform.json'), folder.file('root')];
  const places = ['--config', config, '--root', root];
  return {
    folder,
    root,
    config,
    provision: (args: string[], input = '') => command(['provision', ...places, ...args], {}, input),
    part: async () =>
      (JSON.parse(await readFile(config, 'utf8').catch(() => '{"cloud":{"id":""}}')) as { cloud: { id: string } }).cloud
        .id,
    isKept: () =>
      stat(`${root}/state/set-up-code.json`).then(
        () => true,
        () => false,
      ),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test('a code by argument and by stdin; what is there is replaced with a flag only', async () => {
  await using on = await server({});
  await using m = await machine();
  const wrong = await m.provision(['--code', `ABCD-EFGJ@${on.url}`]);
  assert.equal(wrong.code, 4);
  assert.match(wrong.stderr, /wrong, has expired, or was used by another device/);
  assert.equal(await m.isKept(), false, 'a wrong code is not kept');
  const typo = await m.provision(['--code', `ABCD-EFG@${on.url}`]);
  assert.equal(typo.code, 2);
  assert.match(typo.stderr, /a set-up code has 8 letters, and this has 7/);

  const right = await m.provision(['--code', `abcd efgh@${on.url}`]);
  assert.equal(right.code, 0, right.stderr);
  assert.match(right.stdout, /^This machine is part part-1 at http:/);
  assert.equal(await m.part(), 'part-1');
  assert.equal((await stat(m.config)).mode & 0o777, 0o600);
  assert.equal(await m.isKept(), false);
  assert.match(on.seen.at(-1)?.version ?? '', /^\d+\.\d+\.\d+/);

  const asked = on.seen.length;
  assert.equal((await m.provision(['--code', '-'], `ABCD-EFGH@${on.url}\n`)).code, 4);
  assert.equal(on.seen.length, asked, 'the code is not used up');
  const forced = await m.provision(['--credentials', '-', '--force', '--json'], `ABCD-EFGH@${on.url}\n`);
  assert.deepEqual(JSON.parse(forced.stdout), { is_changed: true, part_id: 'part-1', address: on.url });
  assert.match((await m.provision([])).stdout, /^This machine is part part-1/, 'without arguments it shows the part');
});

test('an authority of the server: its letters are checked before the code is sent', async () => {
  const other = newAuthority('Authority of another server');
  for (const [what, tls, claims, text, outcome] of [
    ['as entered', own, own.cert, `#${fingerprint}`, 'redeemed'],
    ['no letters', own, own.cert, '', 'waits'],
    ['other letters', own, own.cert, `#${fingerprint.replace(/^./, 'A').replace(/.$/, 'B')}`, 'waits'],
    ['an imitator with an authority of its own', other, other.cert, `#${fingerprint}`, 'waits'],
    ['an imitator that repeats the certificate', other, own.cert, `#${fingerprint}`, 'waits'],
    ['an imitator that denies it', other, undefined, `#${fingerprint}`, 'waits'],
  ] as const) {
    await using on = await server({ tls, ...(claims !== undefined && { claims }) });
    await using m = await machine();
    const ran = await m.provision(['--code', `ABCD-EFGH@${on.url}${text}`]);
    assert.equal(ran.code, 0, ran.stderr);
    assert.equal(await m.part(), outcome === 'redeemed' ? 'part-1' : '', what);
    assert.equal(await m.isKept(), outcome === 'waits', what);
    assert.equal(on.seen.length, outcome === 'redeemed' ? 1 : 0, `${what}: the code is sent to the right server only`);
    if (outcome === 'waits') assert.match(ran.stdout, /code is kept.*(certificate|authority)/i, what);
  }
});

test('the server cannot be reached: the code is kept, and the running agent redeems it', async () => {
  await using m = await machine();
  const defaults = m.folder.file('defaults.json');
  await writeFile(defaults, '{"network_configuration": {"fragment_id": "2A7d-1"}}');
  const port = await freePort();
  const agent = await spawnGroup({
    command: process.execPath,
    args: [mainFile, 'run', '--config', m.config, '--root', m.root, '--defaults', defaults],
    logFile: m.folder.file('agent.log'),
  });
  try {
    const control = controlOf(m.root, systemClock);
    const codes = async () => (await control.status().catch(() => undefined))?.conditions.map(({ code }) => code) ?? [];
    while (!(await codes()).includes('CREDENTIALS_MISSING')) await systemClock.sleep(50);
    const ran = await m.provision(['--code', `ABCD-EFGH@http://localhost:${port}`, '--json']);
    assert.equal((JSON.parse(ran.stdout) as { is_waiting: boolean }).is_waiting, true, ran.stderr);
    while (!(await codes()).includes('SET_UP_CODE_WAITS')) await systemClock.sleep(50);
    await using on = await server({ port });
    while ((await m.part()) !== 'part-1') await systemClock.sleep(50);
    while ((await codes()).includes('SET_UP_CODE_WAITS')) await systemClock.sleep(50);
    assert.equal(on.seen.at(-1)?.code, 'ABCDEFGH');
    assert.equal(on.seen.at(-1)?.fragment, '2A7d-1', 'which the defaults of the device name');
    assert.equal(await m.isKept(), false);
  } finally {
    await agent.stop({ termMs: 10_000 });
  }
});

test('without a place to keep a code nothing is sent', async () => {
  await using on = await server({});
  await using m = await machine();
  await writeFile(m.root, 'a file in place of the folder');
  const ran = await m.provision(['--code', `ABCD-EFGH@${on.url}`]);
  assert.notEqual(ran.code, 0);
  assert.equal(on.seen.length, 0);
});

test('a code is redeemed with the fragment that the defaults of the device name', async () => {
  await using on = await server({});
  await using m = await machine();
  const defaults = m.folder.file('defaults.json');
  await writeFile(defaults, '{"network_configuration": {"fragment_id": "2A7d-1"}}');
  assert.equal((await m.provision(['--code', `ABCD-EFGH@${on.url}`, '--defaults', defaults])).code, 0);
  assert.equal(on.seen.at(-1)?.fragment, '2A7d-1');
  await writeFile(defaults, '{"network_configuration": {"fragment_id": "no ID\\r\\nx: y"}}');
  assert.equal((await m.provision(['--code', `ABCD-EFGH@${on.url}`, '--defaults', defaults, '--force'])).code, 0);
  assert.equal(on.seen.at(-1)?.fragment, '', 'what cannot be an ID is not sent');
});
