// Set-up codes: one device gets the credentials of one machine; guessing is slow.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { sql } from 'kysely';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { SetUpResult } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { agentVersionHeader, codeHeader, deviceHeader, redeemPath } from '@platform/contract/set-up-code';
import { systemClock } from '@platform/kit/node';
import { noteSetUpAttempt, readSetUp } from '../src/machines/store/set-up-codes.ts';
import { testServer } from './server.ts';

const newDevice = (): string => randomBytes(32).toString('base64url');

async function redeem(url: string, code: string, device: string, address?: string, version?: string) {
  const headers = {
    [codeHeader]: code,
    [deviceHeader]: device,
    ...(address !== undefined && { 'x-forwarded-for': address }),
    ...(version !== undefined && { [agentVersionHeader]: version }),
  };
  const answer = await fetch(`${url}${redeemPath}`, { method: 'POST', headers });
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() };
}
const nameOf = (result: SetUpResult) => Object.entries(SetUpResult).find(([, value]) => value === result)?.[0];
const invalid = /"SET_UP_CODE_INVALID"/;

test('a device redeems a code for the credentials of its machine, and only this device may do so again', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  const fleet = await on.client(FleetService);
  const { code, expiresOn, serverUrl, isAuthorityOwn } = await fleet.createSetUpCode({ partId });
  assert.match(code, /^[A-HJKMNP-Z]{8}$/);
  assert.equal(serverUrl, on.url);
  assert.equal(isAuthorityOwn, false);
  const life = timestampMs(expiresOn!) - systemClock.wall();
  assert.ok(life > 23 * 3_600_000 && life <= 24 * 3_600_000);

  const device = newDevice();
  const first = await redeem(on.url, code, device);
  assert.equal(first.status, 200);
  assert.equal(first.text, (await fleet.getCredentials({ partId })).credentialsJson);
  const again = await redeem(on.url, `${code.slice(0, 4).toLowerCase()}-${code.slice(4)}`, device);
  assert.deepEqual(again, first, 'after a power cut, as it was typed');
  const other = await redeem(on.url, code, newDevice());
  assert.equal(other.status, 404);
  assert.match(other.text, invalid);

  const { entries } = await (await on.client(AuditService)).listAuditEntries({ organizationId: on.orgId });
  const audited = entries.filter(({ action }) => action.endsWith('set-up code')).map(({ action }) => action);
  assert.deepEqual(audited.toSorted(), ['create set-up code', 'redeem set-up code']);
  const { rows } = await sql<object>`select * from set_up_code`.execute(on.db);
  assert.ok(!JSON.stringify(rows).includes(code), 'the code is not stored');
});

test('a wrong, an expired, a replaced and a deleted code get the same answer', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId } = await on.machine('expired');
  const { code: expired } = await fleet.createSetUpCode({ partId });
  await sql`update set_up_code set expires_on = now() - interval '1 s'`.execute(on.db);
  const { partId: twice } = await on.machine('replaced');
  const { code: replaced } = await fleet.createSetUpCode({ partId: twice });
  const { code: valid } = await fleet.createSetUpCode({ partId: twice });
  const gone = await on.machine('gone');
  const { code: deleted } = await fleet.createSetUpCode({ partId: gone.partId });
  await fleet.deleteMachine({ id: gone.machineId });
  const answers = new Set<string>();
  for (const code of ['ABCDEFGH', expired, replaced, deleted, '', 'ABC']) {
    const { status, text } = await redeem(on.url, code, newDevice());
    // Each answer names its own request.
    answers.add(`${status} ${text.replace(/"request_id":"[^"]+"/, '')}`);
  }
  assert.deepEqual(answers.size, 1);
  assert.match([...answers][0] ?? '', invalid);
  assert.equal((await redeem(on.url, valid, 'short')).status, 404);
  assert.equal((await redeem(on.url, valid, newDevice())).status, 200);
});

test('two devices at once: one of them gets the credentials', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  const { code } = await (await on.client(FleetService)).createSetUpCode({ partId });
  const answers = await Promise.all(Array.from({ length: 8 }, () => redeem(on.url, code, newDevice())));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
});

/** A code with another start than `code`. */
const elsewhere = (code: string): string => (code.startsWith('ABC') ? 'BCDEFGHJ' : 'ABCDEFGH');

test('guessing is slow from one address, also at the same time, and a right code of it is served', async () => {
  await using on = await testServer(['--trusted-proxy', '127.0.0.1,::1']);
  const { partId } = await on.machine('m');
  const { code } = await (await on.client(FleetService)).createSetUpCode({ partId });
  const guesses = await Promise.all(
    Array.from({ length: 60 }, () => redeem(on.url, elsewhere(code), newDevice(), '203.0.113.7')),
  );
  const counted = Map.groupBy(guesses, ({ status }) => status);
  const wrong = counted.get(404)?.length ?? 0;
  assert.ok(wrong >= 30 && wrong <= 32, `${wrong} guesses`);
  assert.equal(counted.get(429)?.length, 60 - wrong);
  for (const { retryAfter, text } of counted.get(429) ?? []) {
    assert.ok(Number(retryAfter) >= 40 && Number(retryAfter) <= 60, String(retryAfter));
    assert.match(text, /"SET_UP_CODES_LIMITED"/);
  }
  assert.equal((await redeem(on.url, code, newDevice(), '203.0.113.7')).status, 200);
});

test('guessing is slow from many addresses together, and a right code is served', async () => {
  await using on = await testServer(['--trusted-proxy', '127.0.0.1,::1']);
  const { partId } = await on.machine('m');
  const { code } = await (await on.client(FleetService)).createSetUpCode({ partId });
  const guesses = await Promise.all(
    Array.from({ length: 150 }, (_, n) => redeem(on.url, elsewhere(code), newDevice(), `203.0.113.${n}`)),
  );
  const wrong = guesses.filter(({ status }) => status === 404).length;
  assert.ok(wrong >= 80 && wrong < 130, `${wrong} guesses`);
  assert.equal((await redeem(on.url, code, newDevice(), '203.0.113.200')).status, 200);
});

test('what came of a code: each attempt that concerns it, from where, and by which agent', async () => {
  await using on = await testServer(['--trusted-proxy', '127.0.0.1,::1']);
  const fleet = await on.client(FleetService);
  const { partId } = await on.machine('m');
  const { partId: other } = await on.machine('other');
  const seen = async (of = partId) => {
    const { attempts } = await fleet.getSetUp({ partId: of });
    return attempts.map(({ result, address, agentVersion }) => [nameOf(result), address, agentVersion].join(' '));
  };
  const until = async (count: number): Promise<string[]> => {
    let found = await seen();
    for (; found.length < count; found = await seen()) await systemClock.sleep(20);
    return found;
  };
  assert.deepEqual(await seen(), []);
  assert.equal((await fleet.getSetUp({ partId })).createdOn, undefined);
  const { code: replaced } = await fleet.createSetUpCode({ partId });
  const { code } = await fleet.createSetUpCode({ partId });
  const letter = code.endsWith('A') ? 'B' : 'A';
  await redeem(on.url, `${code.slice(0, 7)}${letter}`, newDevice(), '203.0.113.7', '1.2.3');
  await until(1);
  await redeem(on.url, replaced, newDevice(), '203.0.113.7', '1.2.3 <script>');
  await until(2);
  const device = newDevice();
  await redeem(on.url, code, device, '2001:db8:1:2:3::4', '1.2.3');
  await redeem(on.url, code, device, '203.0.113.7');
  await redeem(on.url, code, newDevice(), '203.0.113.9');
  await until(5);
  await sql`update set_up_code set expires_on = now() - interval '1 s' where part_id = ${partId}`.execute(on.db);
  await redeem(on.url, code, device, '203.0.113.7');
  assert.deepEqual(await until(6), [
    'EXPIRED 203.0.113.7 ',
    'OTHER_DEVICE 203.0.113.9 ',
    'REPEATED 203.0.113.7 ',
    'REDEEMED 2001:db8:1:2::/64 1.2.3',
    'REPLACED 203.0.113.7 ',
    'SIMILAR 203.0.113.7 1.2.3',
  ]);
  const { redeemedOn, expiresOn } = await fleet.getSetUp({ partId });
  assert.ok(redeemedOn && expiresOn);
  assert.deepEqual(await seen(other), [], 'another machine has nothing to do with it');

  for (let n = 0; n < 12; n++) await redeem(on.url, code, device, `203.0.114.${n}`);
  const isOver = async () => (await seen())[0]?.includes('203.0.114.11');
  while (!(await isOver())) await systemClock.sleep(20);
  assert.equal((await seen()).length, 10);
});

test('attempts are listed in the order in which they were made, also if they are stored in another one', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  const { orgId } = on;
  const minute = 60_000;
  const note = (n: number) =>
    noteSetUpAttempt(on.db, {
      partId,
      orgId,
      result: 'expired',
      agentVersion: '',
      address: `203.0.113.${n}`,
      now: 1795e9 + n * minute,
    });
  for (const n of [2, 1, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3]) await note(n);
  const { attempts } = await readSetUp(on.db, partId);
  assert.deepEqual(
    attempts.map(({ address }) => address),
    [12, 11, 10, 9, 8, 7, 6, 5, 4, 3].map((n) => `203.0.113.${n}`),
  );
});

test('a code of no machine is a hint for callers of the same network only', async () => {
  await using on = await testServer(['--trusted-proxy', '127.0.0.1,::1']);
  const { partId } = await on.machine('m');
  const fleet = await on.client(FleetService);
  await redeem(on.url, 'ABCDEFGH', newDevice(), '203.0.113.7');
  await redeem(on.url, 'ABCDEFGH', newDevice());
  let hint = (await fleet.getSetUp({ partId })).unknownCodeOn;
  for (; hint === undefined; hint = (await fleet.getSetUp({ partId })).unknownCodeOn) await systemClock.sleep(20);
  assert.ok(Math.abs(timestampMs(hint) - systemClock.wall()) < 60_000);
});

test('the hotspot of a device that has not reported is not known; its password is the standard one', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  const fleet = await on.client(FleetService);
  const agent = { network_configuration: { hotspot_ssid: 'Ours', hotspot_password: 'of-this-device' } };
  await fleet.saveConfig({ partId, configJson: JSON.stringify({ agent }) });
  const { hotspotSsid, hotspotPassword, serverProblems } = await fleet.getSetUp({ partId });
  assert.deepEqual([hotspotSsid, hotspotPassword], ['', 'platformsetup']);
  assert.match(serverProblems.join(), /leads each device to itself/);
});

test('a hotspot password of the configuration is a secret, also for the page that sets up the device', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const fleet = await on.client(FleetService);
  const agents = await on.client(AgentDeviceService, part);
  await agents.deviceAgentConfig({ id: partId, report: { hostname: 'camera-1' } });
  const agent = { network_configuration: { hotspot_ssid: 'Ours', hotspot_password: 'of-this-device' } };
  await fleet.saveConfig({ partId, configJson: JSON.stringify({ agent }) });
  const { hotspotSsid, hotspotPassword } = await fleet.getSetUp({ partId });
  assert.deepEqual([hotspotSsid, hotspotPassword], ['Ours', '']);
});
