// One-time keys of install commands: one computer gets the credentials of one machine, once.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'node:test';
import { sql } from 'kysely';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { FleetService, InstallStepKind } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { installerHeader, installStepsPath, keyHeader, keyIdHeader } from '@platform/contract/provisioning/install-key';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { fragmentHeader } from '@platform/contract/provisioning/set-up-code';
import { systemClock } from '@platform/kit/node';
import { replaceInstallKey } from '../src/machines/store/install-keys.ts';
import { testServer } from './server.ts';

/** Polls the server: what it notes after an answer is visible soon. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo()));
}
const newInstaller = (): string => randomBytes(16).toString('hex');
const nameOf = (kind: InstallStepKind) => Object.entries(InstallStepKind).find(([, value]) => value === kind)?.[0];
type Key = { keyId: string; key: string };

async function ask(
  method: 'GET' | 'HEAD' | 'POST',
  url: string,
  { keyId, key }: Key,
  installer?: string,
  address?: string,
) {
  const headers = {
    [keyIdHeader]: keyId,
    [keyHeader]: key,
    ...(installer !== undefined && { [installerHeader]: installer }),
    ...(address !== undefined && { 'x-forwarded-for': address }),
  };
  const answer = await fetch(url, { method, headers });
  return { status: answer.status, text: await answer.text() };
}
const fetchWith = (url: string, partId: string, key: Key, installer?: string, address?: string) =>
  ask('GET', `${url}/api/json1/config?client=true&id=${partId}`, key, installer, address);
const report = (url: string, step: string, key: Key, installer: string, detail = '') =>
  ask('POST', `${url}${installStepsPath}?${new URLSearchParams({ step, detail }).toString()}`, key, installer);

test('a one-time key fetches the credentials of its machine, and is good for nothing else', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId } = await on.machine('m');
  const other = await on.machine('other');
  const created = await fleet.createInstallKey({ partId });
  assert.match(created.key, /^once_[\w-]{32}$/);
  assert.equal(created.serverUrl, on.url);
  const life = timestampMs(created.expiresOn!) - systemClock.wall();
  assert.ok(life > 23 * 3_600_000 && life <= 24 * 3_600_000);

  assert.equal((await fetchWith(on.url, other.partId, created, newInstaller())).status, 401, 'of another machine');
  const installer = newInstaller();
  const first = await fetchWith(on.url, partId, created, installer);
  assert.equal(first.status, 200);
  assert.equal(first.text, (await fleet.getCredentials({ partId })).credentialsJson);
  assert.deepEqual(await fetchWith(on.url, partId, created, installer), first, 'the same installer, after a full disk');
  for (const another of [newInstaller(), undefined])
    assert.equal((await fetchWith(on.url, partId, created, another)).status, 401, 'another computer');
  await assert.rejects(on.token({ type: 'api-key', entity: created.keyId, payload: created.key }), /credentials/i);

  assert.equal((await report(on.url, 'installed', created, installer)).status, 204);
  assert.equal((await fetchWith(on.url, partId, created, installer)).status, 401, 'it is done');

  const { entries } = await (await on.client(AuditService)).listAuditEntries({ organizationId: on.orgId });
  const audited = entries.filter(({ action }) => action.endsWith('install key')).map(({ action }) => action);
  assert.deepEqual(audited.toSorted(), ['create install key', 'use install key']);
  const { rows } = await sql<object>`select * from install_key`.execute(on.db);
  assert.ok(!JSON.stringify(rows).includes(created.key), 'the key is not stored');
});

test('a used, an expired, a replaced and an invented key get the same answer', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const make = async (name: string) => {
    const { partId } = await on.machine(name);
    const { keyId, key } = await fleet.createInstallKey({ partId });
    return { partId, keyId, key };
  };
  const expired = await make('expired');
  await sql`update install_key set expires_on = now() - interval '1 s'`.execute(on.db);
  const used = await make('used');
  await fetchWith(on.url, used.partId, used, newInstaller());
  const replaced = await make('replaced');
  const { keyId, key } = await fleet.createInstallKey({ partId: replaced.partId });
  const invented = { ...used, keyId: randomUUID() };
  const malformed = { ...used, keyId: 'x' };
  const answers = new Set<string>();
  for (const one of [expired, used, replaced, invented, malformed]) {
    const { status, text } = await fetchWith(on.url, one.partId, one, newInstaller());
    answers.add(`${status} ${text.replace(/"request_id":"[^"]+"/, '')}`);
    assert.equal((await report(on.url, 'started', one, newInstaller())).status, 401);
  }
  assert.equal(answers.size, 1);
  assert.match([...answers][0] ?? '', /INSTALL_KEY_INVALID.*Make a new line/);
  assert.equal((await fetchWith(on.url, replaced.partId, { keyId, key }, newInstaller())).status, 200);
});

test('many computers at once: one of them gets the credentials', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  const key = await (await on.client(FleetService)).createInstallKey({ partId });
  const answers = await Promise.all(Array.from({ length: 8 }, () => fetchWith(on.url, partId, key)));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
});

test('guessing is slow from one address, and a right key of it is served', async () => {
  await using on = await testServer(['--trusted-proxy', '127.0.0.1,::1']);
  const { partId } = await on.machine('m');
  const created = await (await on.client(FleetService)).createInstallKey({ partId });
  const start = created.keyId.startsWith('000') ? '111' : '000';
  const guess = () => ({ keyId: `${start}${randomUUID().slice(3)}`, key: created.key });
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => fetchWith(on.url, partId, guess(), newInstaller(), '203.0.113.7')),
  );
  const wrong = answers.filter(({ status }) => status === 401).length;
  assert.ok(wrong >= 30 && wrong <= 32, `${wrong} guesses`);
  assert.match(answers.find(({ status }) => status === 429)?.text ?? '', /INSTALL_KEYS_LIMITED/);
  assert.equal((await fetchWith(on.url, partId, created, newInstaller(), '203.0.113.7')).status, 200);
});

test('the page shows each step with its time, a failure with its reason, and a new start anew', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId, part } = await on.machine('m');
  assert.equal((await fleet.getInstallation({ partId })).createdOn, undefined);
  const key = await fleet.createInstallKey({ partId });
  const installer = newInstaller();
  const steps = async () =>
    (await fleet.getInstallation({ partId })).steps.map(({ kind, detail }) => [nameOf(kind), detail]);

  await report(on.url, 'started', key, installer, 'linux-amd64');
  await report(on.url, 'downloaded', key, installer, 'x'.repeat(5_000));
  await report(on.url, 'failed', key, installer, 'The disk is full.');
  const [, downloaded] = await steps();
  assert.equal(downloaded?.[1]?.length, 600);
  assert.deepEqual((await steps()).at(-1), ['FAILED', 'The disk is full.']);
  await report(on.url, 'started', key, installer);
  assert.deepEqual(await steps(), [['STARTED', '']]);
  assert.equal((await report(on.url, 'flew', key, installer)).status, 400);

  await fetchWith(on.url, partId, key, installer);
  await fetchWith(on.url, partId, key, newInstaller());
  await until(async () => (await steps()).some(([kind]) => kind === 'REFUSED'));
  assert.equal((await report(on.url, 'started', key, newInstaller())).status, 401, 'another computer reports nothing');
  const agent = await on.client(AgentDeviceService, part);
  await agent.deviceAgentConfig({ id: partId, report: { agent: { runningVersion: '1.0.0' } } });
  await until(async () => (await fleet.getInstallation({ partId })).reportedOn !== undefined);
  await fleet.createInstallKey({ partId });
  const fresh = await fleet.getInstallation({ partId });
  assert.deepEqual([fresh.steps, fresh.usedOn, fresh.reportedOn], [[], undefined, undefined]);
});

test('a report that waits while a newer key replaces its own does not end the installation with the newer one', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId } = await on.machine('m');
  const before = await fleet.createInstallKey({ partId });
  const installer = newInstaller();
  assert.equal((await fetchWith(on.url, partId, before, installer)).status, 200);
  const { answer, newer } = await on.db.transaction().execute(async (trx) => {
    const expiresOn = systemClock.wall() + 3_600_000;
    const made = await replaceInstallKey(trx, { partId, orgId: on.orgId, expiresOn });
    const late = report(on.url, 'installed', before, installer);
    const waits = sql<{ n: number }>`select count(*)::int as n from pg_locks where not granted`;
    while ((await waits.execute(on.db)).rows[0]?.n === 0);
    // In an object: the answer comes after the transaction.
    return { answer: late, newer: { keyId: made.id, key: made.key } };
  });
  await answer;
  assert.deepEqual((await fleet.getInstallation({ partId })).steps, []);
  assert.equal((await fetchWith(on.url, partId, newer, newInstaller())).status, 200);
});

test('a computer whose defaults name a fragment makes its machine start with it', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const made = await (
    await on.client(AppService)
  ).createFragment({ organizationId: on.orgId, name: 'base', configJson: '{"agent": {}}' });
  const id = made.fragment?.id ?? '';
  const { partId } = await on.machine('m');
  const { keyId, key } = await fleet.createInstallKey({ partId });
  const headers = {
    [keyIdHeader]: keyId,
    [keyHeader]: key,
    [installerHeader]: newInstaller(),
    [fragmentHeader]: id,
  };
  const url = `${on.url}/api/json1/config?client=true&id=${partId}`;
  assert.equal((await fetch(url, { headers })).status, 200);
  const { configJson, revision } = await fleet.getConfig({ partId });
  assert.deepEqual([JSON.parse(configJson), revision], [{ fragments: [id] }, 1n]);
  const { entries } = await (await on.client(AuditService)).listAuditEntries({ organizationId: on.orgId });
  const used = entries.find(({ action }) => action === 'use install key');
  assert.deepEqual(used?.details, { fragment: id });
});
