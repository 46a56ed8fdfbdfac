// A certificate from a private authority: the install command includes that authority.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import test from 'node:test';
import { rootCertificates } from 'node:tls';
import { promisify } from 'node:util';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { parseCredentials } from '@platform/contract/machine-server/machine-server';
import { issue, type Issued, tempFolder, type TempFolder } from '@platform/kit/testing';
import { authorityOf } from '../src/tls/authority.ts';
import { testServer, type TestServer } from './server.ts';

const day = 86_400_000;
const validity = { from: Date.now() - day, to: Date.now() + 30 * day };
const root = (name: string): Issued => issue({ name, ...validity, authority: true, keyUsage: [5, 6] });
const own = root('Authority of a barn');
const between = issue({ name: 'Authority between', ...validity, by: own, authority: true, keyUsage: [5, 6] });
const leaf = (by?: Issued): Issued => issue({ name: 'site', ...validity, ...(by && { by }), dns: ['localhost'] });
const fingerprint = (pem: string): string => createHash('sha256').update(pem).digest('hex');

const direct = leaf(own);
const deep = leaf(between);
const alone = leaf();
const chains: [name: string, pem: string, is: string, authority?: string][] = [
  ['the authority stands behind the certificate', `${direct.cert}${own.cert}`, 'own', own.cert],
  ['and one between', `${deep.cert}${between.cert}${own.cert}`, 'own', own.cert],
  ['in another order', `${deep.cert}${own.cert}${between.cert}`, 'own', own.cert],
  ['a certificate that signed itself', alone.cert, 'own', alone.cert],
  ['its authority is not in the file', direct.cert, 'unknown'],
  ['another authority of the same name', `${direct.cert}${root('Authority of a barn').cert}`, 'unknown'],
  ['a public authority', rootCertificates[0] ?? '', 'public'],
];
for (const [name, pem, is, authority] of chains)
  test(`authority of a certificate: ${name}`, () => {
    const found = authorityOf(pem);
    assert.equal(found.is, is);
    if (found.is !== 'own') return;
    assert.equal(found.pem, authority);
    assert.equal(found.sha256, fingerprint(found.pem));
  });

const known: [name: string, pem: string, known: string[], is: string][] = [
  ['that all clients know', direct.cert, [own.cert], 'public'],
  ['with one between', `${deep.cert}${between.cert}`, [own.cert], 'public'],
  ['at the end of the file', `${direct.cert}${own.cert}`, [own.cert], 'public'],
  ['that is the certificate itself', alone.cert, [alone.cert], 'own'],
  ['that is not the known one', direct.cert, [root('Authority of a barn').cert], 'unknown'],
  ['that is not the known one, at the end of the file', `${direct.cert}${own.cert}`, [root('Other').cert], 'own'],
];
for (const [name, pem, authorities, is] of known)
  test(`an authority ${name}`, () => assert.equal(authorityOf(pem, authorities).is, is));

async function serverWith(folder: TempFolder, cert: string, key: string, flags: string[] = []): Promise<TestServer> {
  await writeFile(folder.file('cert.pem'), cert);
  await writeFile(folder.file('key.pem'), key);
  return testServer(['--tls-cert', folder.file('cert.pem'), '--tls-key', folder.file('key.pem'), ...flags]);
}

/** What a new machine receives over RPC. */
async function given(on: TestServer) {
  const fleet = await on.client(FleetService);
  const made = await fleet.createMachine({ organizationId: on.orgId, name: 'm' });
  const got = await fleet.getCredentials({ partId: made.machine?.partId ?? '' });
  assert.equal(got.credentialsJson, made.credentialsJson);
  assert.equal(got.installScriptCommand, made.installScriptCommand);
  const credentials = parseCredentials(got.credentialsJson);
  assert.ok(credentials.ok);
  return { command: got.installScriptCommand, authority: credentials.value.authority };
}

const sh = (command: string): Promise<{ code: number; stdout: string }> =>
  promisify(execFile)('/bin/sh', ['-c', command]).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
  );

const passedOn: [name: string, cert: string, flags: (folder: TempFolder) => string[]][] = [
  ['that ends with its authority', `${direct.cert}${own.cert}`, () => []],
  ['whose authority is named', direct.cert, (folder) => ['--tls-authority', folder.file('authority.pem')]],
];
for (const [name, cert, flags] of passedOn)
  test(`a certificate ${name}: plain curl runs the script only of the server that the line names`, async () => {
    await using folder = await tempFolder();
    await writeFile(folder.file('authority.pem'), own.cert);
    await using on = await serverWith(folder, cert, direct.key, flags(folder));
    const { command, authority } = await given(on);
    assert.equal(authority, own.cert);
    assert.ok(command.includes(fingerprint(own.cert)));
    assert.equal(on.server.installScriptCommand, command);

    const script = await sh(command);
    assert.equal(script.code, 0);
    assert.match(script.stdout, new RegExp(`^server_url='${on.url}'$`, 'm'));
    assert.ok(script.stdout.includes(`authority='${own.cert.trim()}'`));
    // Nested as in the line with keys: inner quotes must not end the outer ones.
    const nested = await sh(`/bin/sh -c "echo $(${command} | wc -l)"`);
    assert.equal(Number(nested.stdout), script.stdout.trimEnd().split('\n').length);

    const other = root('Another authority');
    await writeFile(folder.file('other.pem'), other.cert);
    const forged = leaf(other);
    await using thief = await serverWith(await tempFolder(), forged.cert, forged.key, [
      '--tls-authority',
      folder.file('other.pem'),
    ]);
    const misled = await sh(command.replaceAll(on.url, thief.url));
    assert.equal(misled.stdout, '\nexit 2\n', 'another authority');
    await using proxy = await serverWith(await tempFolder(), forged.cert, forged.key, [
      '--tls-authority',
      folder.file('authority.pem'),
    ]);
    const intercepted = await sh(command.replaceAll(on.url, proxy.url));
    assert.equal(intercepted.stdout, '\nexit 2\n', 'the right authority, shown by another');
  });

test('nothing is passed on where the authority is unknown, and nothing without TLS', async () => {
  await using folder = await tempFolder();
  await using unknown = await serverWith(folder, direct.cert, direct.key);
  await using plain = await testServer();
  for (const on of [unknown, plain]) {
    assert.deepEqual(await given(on), {
      command: `{ curl -fsSL ${on.url}/install.sh || (echo; echo exit 2); }`,
      authority: undefined,
    });
    const { localUrl } = on.server;
    assert.equal((await fetch(`${localUrl}/authority.pem`)).status, 404);
  }
});
