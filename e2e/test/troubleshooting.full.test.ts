// docs/operations/troubleshooting.md: each section's symptom is provoked, is what the page says, and goes away by its steps.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { systemClock } from '@platform/kit/node';
import { issue, tempFolder } from '@platform/kit/testing';
import { startCloud, startCloudAt } from '../src/cloud-process.ts';
import { JobLab } from '../src/job-lab.ts';
import { blocksOf, hasOutput } from '../src/page-blocks.ts';
import { fillDisk } from '../src/small-disk.ts';
import { checkout, dataFolder, runCli } from '../src/up-process.ts';

const page = 'docs/operations/troubleshooting.md';
const day = 86_400_000;

/** The output that a section shows. */
function symptomOf(section: string): string {
  const text = readFileSync(path.join(checkout, page), 'utf8');
  const part = text.split(/^## /m).find((one) => one.startsWith(`${section}\n`)) ?? assert.fail(`no ${section}`);
  const block = blocksOf(page, part).find(({ language }) => language === 'text');
  return block?.text ?? assert.fail(`${section} shows no output`);
}

const shows = (section: string, output: string): void =>
  assert.ok(hasOutput(output, symptomOf(section)), `${section}: the product prints\n${output}`);

const readyz = async (url: string): Promise<{ status: number; text: string }> => {
  const answer = await fetch(`${url}/readyz`);
  return { status: answer.status, text: await answer.text() };
};

const signIn = (baseUrl: string, type: string, entity: string, payload: string) =>
  createClient(AuthService, createConnectTransport({ baseUrl })).authenticate({
    entity,
    credentials: { type, payload },
  });

test('the disk is full', async () => {
  await using lab = await JobLab.open({ diskMib: 400 });
  await lab.putBlob(Buffer.from('before'));
  const fleet = await lab.client(FleetService);
  const free = fillDisk(lab.pid, lab.folder.path);
  const token = await lab.token('runner');
  const bytes = randomBytes(1_000_000);
  const put = async (): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` };
    const url = `${lab.ready.url}/blobs/${createHash('sha256').update(bytes).digest('hex')}`;
    const { code, message, remedy } = (await (
      await fetch(url, { method: 'PUT', body: bytes, headers })
    ).json()) as Record<string, string>;
    return `${code}: ${message} ${remedy}`;
  };
  shows('The disk is full', await put());
  assert.ok(await fleet.listMachines({ organizationId: lab.ready.org_id }), 'it goes on serving');
  free();
  await lab.until('writes succeed again', () =>
    lab.putBlob(bytes).then(
      () => true,
      () => false,
    ),
  );
});

test('the clock is wrong', async () => {
  await using folder = await tempFolder();
  const site = issue({ name: 'localhost', from: Date.now() + day, to: Date.now() + 2 * day, dns: ['localhost'] });
  await writeFile(folder.file('cert.pem'), site.cert);
  await writeFile(folder.file('key.pem'), site.key);
  await using cloud = await startCloud('--tls-cert', folder.file('cert.pem'), '--tls-key', folder.file('key.pem'));
  shows('The clock is wrong', (await readyz(cloud.ready.local_url)).text);
});

test('the database is away', async () => {
  await using lab = await JobLab.open();
  // The server checks once a second, and may have its database back before that.
  let answer = await readyz(lab.ready.url);
  for (; answer.status !== 503; answer = await readyz(lab.ready.url)) {
    try {
      lab.killDatabase();
    } catch {
      // It is dead already.
    }
    await systemClock.sleep(100);
  }
  shows('The database is away', answer.text);
  await lab.untilReady();
});

test('a key is lost or leaked; a machine was stolen; the name changed', async () => {
  await using data = await dataFolder();
  const place = { checkout, dataDir: data.path, port: 0 };
  await using first = await startCloudAt(place);
  const { local_url: url, api_key_id: id, api_key: key } = first.ready;
  const cli = (...args: string[]) =>
    runCli({ PLATFORM_URL: url, PLATFORM_API_KEY_ID: id, PLATFORM_API_KEY: key }, ...args);
  const wrong = await runCli(
    { PLATFORM_URL: url, PLATFORM_API_KEY_ID: id, PLATFORM_API_KEY: 'wrong' },
    'machine',
    'list',
  );
  shows('A key is lost or leaked', wrong.stderr);

  const made = await cli('machine', 'create', 'barn');
  assert.equal(made.code, 0, made.stderr);
  const { cloud } = JSON.parse((await cli('machine', 'credentials', 'barn')).stdout) as {
    cloud: Record<string, string>;
  };
  const { id: partId = '', secret = '' } = cloud;
  await signIn(url, 'robot-secret', partId, secret);
  const deleted = await cli('machine', 'delete', 'barn', '--yes');
  assert.equal(deleted.code, 0, deleted.stderr);
  const thief = await signIn(url, 'robot-secret', partId, secret).then(() => 'signed in', String);
  shows('A machine was stolen', thief);
  assert.equal((await cli('machine', 'create', 'stable')).code, 0);
  const before = JSON.parse((await cli('machine', 'credentials', 'stable')).stdout) as {
    cloud: Record<string, string>;
  };
  await first[Symbol.asyncDispose]();

  await using again = await startCloudAt(place, '--new-keys', '--public-url', 'https://new.example.com');
  assert.equal(again.ready.api_key_id, id);
  await assert.rejects(signIn(again.ready.local_url, 'api-key', id, key), /INVALID_CREDENTIALS/);
  await signIn(again.ready.local_url, 'api-key', id, again.ready.api_key);
  // The old URL still leads here, and new credentials have the new one.
  await signIn(again.ready.local_url, 'robot-secret', before.cloud['id'] ?? '', before.cloud['secret'] ?? '');
  const { api_key } = again.ready;
  const renewed = await runCli(
    { PLATFORM_URL: again.ready.local_url, PLATFORM_API_KEY_ID: id, PLATFORM_API_KEY: api_key },
    'machine',
    'credentials',
    'stable',
  );
  assert.match(renewed.stdout, /"app_address": ?"https:\/\/new\.example\.com(:443)?"/);
});
