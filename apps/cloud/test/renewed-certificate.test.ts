// Certificates are renewed while the server runs; it reports an invalid certificate.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import test from 'node:test';
import { connect } from 'node:tls';
import { FakeClock, issue, type Issued, tempFolder, type TempFolder } from '@platform/kit/testing';
import { systemClock } from '@platform/kit/node';
import {
  certificateProblems,
  type Identity,
  identityInUse,
  isStrictTransport,
  readIdentity,
} from '../src/tls/in-use.ts';
import { openPort } from '../src/wire/mux.ts';
import { testLog, testUnhandled } from './database.ts';
import { testServer } from './server.ts';
import { turnedClock } from './turned-clock.ts';

const day = 86_400_000;
const now = Date.now();
const authority = issue({ name: 'Authority of a test', from: now - day, to: now + 300 * day, authority: true });
const leaf = (name: string, more: { from?: number; to?: number; dns?: string[] } = {}): Issued =>
  issue({ name, from: now - day, to: now + 30 * day, by: authority, dns: ['localhost'], ...more });

const optionsIn = (folder: TempFolder) => ({
  tlsCert: folder.file('cert.pem'),
  tlsKey: folder.file('key.pem'),
  tlsAuthority: undefined,
  tlsKnownAuthority: undefined,
  publicUrl: undefined,
});
async function put(folder: TempFolder, { cert }: Issued, { key }: Issued): Promise<void> {
  await writeFile(folder.file('cert.pem'), `${cert}${authority.cert}`);
  await writeFile(folder.file('key.pem'), key);
}

/** Returns the common name of the served certificate, and the connection, which stays open. */
async function shown(port: number, version: { maxVersion?: 'TLSv1.1' | 'TLSv1.2' } = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({
    port,
    host: '127.0.0.1',
    ca: authority.cert,
    servername: 'localhost',
    ALPNProtocols: ['h2', 'http/1.1'],
    ...version,
    ...(version.maxVersion === 'TLSv1.1' && { minVersion: 'TLSv1' as const, ciphers: 'ALL:@SECLEVEL=0' }),
  });
  socket.once('error', reject);
  socket.once('secureConnect', () => {
    const { subject } = socket.getPeerCertificate();
    resolve(`${String(subject.CN)} ${String(socket.alpnProtocol)}`);
  });
  return { name: await promise, socket };
}

test('a renewed pair is in use within a minute, for new connections; one that cannot be used leaves the one before', async () => {
  await using folder = await tempFolder();
  const [first, second, third] = [leaf('first'), leaf('second'), leaf('third')];
  await put(folder, first, first);
  const options = optionsIn(folder);
  const clock = new FakeClock(now);
  const inUse = identityInUse(options, await readIdentity(options), { clock, log: testLog });
  const { pair } = inUse.now();
  assert.ok(pair);
  const port = await openPort((_, response) => void response.end('ok'), {
    host: '127.0.0.1',
    port: 0,
    tls: pair,
    allowPlaintext: false,
    clock: systemClock,
    log: testLog,
    unhandled: testUnhandled,
  });
  const stop = new AbortController();
  const renewals = { count: 0 };
  const followed = inUse.follow((found) => {
    renewals.count++;
    port.renew(found);
  }, stop.signal);
  /** Advances a minute; files are read in real time, so a minute that passes while they are read is repeated. */
  const look = async (isSeen: () => boolean): Promise<void> => {
    for (let waits = 0; waits === 0 || !isSeen(); waits++) {
      if (waits % 200 === 0) await clock.advance(60_000);
      await systemClock.sleep(5);
    }
  };
  try {
    const before = await shown(port.port);
    assert.equal(before.name, 'first h2');

    // A partial renewal: the certificate exists, its key does not.
    await put(folder, second, first);
    await look(() => inUse.problem() !== undefined);
    assert.match(inUse.problem() ?? '', /--tls-key.*private key of/);
    assert.equal((await shown(port.port)).name, 'first h2');
    assert.equal(renewals.count, 0);

    await put(folder, second, second);
    await look(() => renewals.count === 1 && inUse.problem() === undefined);
    assert.equal((await shown(port.port)).name, 'second h2');
    assert.equal((await shown(port.port, { maxVersion: 'TLSv1.2' })).name, 'second h2');
    await assert.rejects(shown(port.port, { maxVersion: 'TLSv1.1' }), 'TLS 1.2 is the least, before and after');
    assert.ok(!before.socket.destroyed, 'connections of before go on');

    for (const broken of ['', 'no certificate', first.cert.slice(0, 200)]) {
      await writeFile(folder.file('cert.pem'), broken);
      await look(() => inUse.problem() !== undefined);
      assert.equal((await shown(port.port)).name, 'second h2');
    }
    await put(folder, third, third);
    await look(() => renewals.count === 2 && inUse.problem() === undefined);
    assert.equal((await shown(port.port)).name, 'third h2');
    assert.equal(renewals.count, 2);
    before.socket.destroy();
  } finally {
    stop.abort();
    await followed;
    await port.close(0);
  }
});

const identityOf = async (one: Issued, is: Identity['authority']['is'] = 'own'): Promise<Identity> => {
  await using folder = await tempFolder();
  await put(folder, one, one);
  const identity = await readIdentity(optionsIn(folder));
  const authorities = {
    own: identity.authority,
    public: { is: 'public' },
    unknown: { is: 'unknown', issuer: 'CN=x' },
  } as const;
  return { ...identity, authority: authorities[is] };
};

const problems: [
  name: string,
  one: Issued,
  url: string,
  is: Identity['authority']['is'],
  problem: RegExp | undefined,
][] = [
  ['a good one', leaf('a'), 'https://localhost:8443', 'own', undefined],
  ['expired', leaf('a', { from: now - 3 * day, to: now - day }), 'https://localhost', 'own', /expired on 20\d\d-/],
  ['not valid yet', leaf('a', { from: now + day, to: now + 2 * day }), 'https://localhost', 'own', /not valid before/],
  ['of another name', leaf('a'), 'https://barn.lan', 'own', /does not vouch for barn\.lan/],
  ['of another name, behind a proxy without TLS', leaf('a'), 'http://barn.lan', 'own', undefined],
  ['of an unknown authority', leaf('a'), 'https://localhost', 'unknown', /--tls-authority/],
];
for (const [name, one, url, is, problem] of problems)
  test(`what is wrong with a certificate: ${name}`, async () => {
    const found = certificateProblems(await identityOf(one, is), url, now);
    if (problem === undefined) assert.deepEqual(found, []);
    else assert.match(found.map(({ text }) => text).join('\n'), problem);
    assert.deepEqual(
      found.map(({ isFatal }) => isFatal),
      problem === undefined ? [] : [/expired|valid/.test(name)],
    );
  });

const strict: [name: string, dns: string[], url: string | undefined, is: 'own' | 'public', isStrict: boolean][] = [
  ['a public name', ['barn.example'], 'https://barn.example:8443', 'public', true],
  ['an authority of its own', ['barn.example'], 'https://barn.example', 'own', false],
  ['an address', ['barn.example'], 'https://192.0.2.7', 'public', false],
  ['localhost', ['localhost'], 'https://localhost', 'public', false],
  ['a name that the certificate does not have', ['barn.example'], 'https://other.example', 'public', false],
  ['a public URL without TLS', ['barn.example'], 'http://barn.example', 'public', false],
];
for (const [name, dns, url, is, isStrict] of strict)
  test(`strict transport security: ${name}`, async () =>
    assert.equal(isStrictTransport(await identityOf(leaf('a', { dns }), is), url), isStrict));

test('a certificate that ends while the server runs is called expired, though nothing renews it', async () => {
  await using folder = await tempFolder();
  const ends = leaf('a', { from: now - 3 * day, to: now + day });
  await put(folder, ends, ends);
  const turned = turnedClock();
  const files = ['--tls-cert', folder.file('cert.pem'), '--tls-key', folder.file('key.pem')];
  await using on = await testServer(files, {}, turned.clock);
  const word = async () => (await (await fetch(`${on.server.localUrl}/readyz`)).text()).split('\n');
  assert.equal((await word())[0], 'ok');
  turned.advance(2 * day);
  let found = await word();
  // The last check of database and files is two days old until the next one.
  while (found[0] === 'unavailable') {
    await systemClock.sleep(50);
    found = await word();
  }
  assert.equal(found[0], 'degraded');
  assert.match(found.join('\n'), /^problem: The certificate expired on 20\d\d-/m);
});

test('the readiness page says what is wrong with the certificate, and the server is ready', async () => {
  await using folder = await tempFolder();
  const expired = leaf('a', { from: now - 3 * day, to: now - day });
  await put(folder, expired, expired);
  await using on = await testServer(['--tls-cert', folder.file('cert.pem'), '--tls-key', folder.file('key.pem')]);
  const answer = await fetch(`${on.server.localUrl}/readyz`);
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /^degraded\ndatabase: ok\n[^]*\nproblem: The certificate expired on /);
  assert.equal(answer.headers.get('strict-transport-security'), null);
});
