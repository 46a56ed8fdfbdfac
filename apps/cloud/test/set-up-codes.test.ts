// Set-up codes: one device gets the credentials of one machine; guessing is slow.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { sql } from 'kysely';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { FleetService, SetUpResult } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
  agentVersionHeader,
  codeHeader,
  deviceHeader,
  fragmentHeader,
  redeemPath,
} from '@platform/contract/provisioning/set-up-code';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { systemClock } from '@platform/kit/node';
import { deleteKey, insertKey } from '../src/access/store/keys.ts';
import { noteSetUpAttempt, readSetUp } from '../src/machines/store/set-up-codes.ts';
import { testServer } from './server.ts';

const newDevice = (): string => randomBytes(32).toString('base64url');

async function redeem(
  url: string,
  code: string,
  device: string,
  address?: string,
  version?: string,
  fragment?: string,
) {
  const headers = {
    [codeHeader]: code,
    [deviceHeader]: device,
    ...(address !== undefined && { 'x-forwarded-for': address }),
    ...(version !== undefined && { [agentVersionHeader]: version }),
    ...(fragment !== undefined && { [fragmentHeader]: fragment }),
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
      fragmentId: '',
      fragmentProblem: '',
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

test('a device that names a fragment makes its machine start with it, with the rights of who made the code', async () => {
  await using on = await testServer();
  const { orgId } = on;
  const [fleet, app] = [await on.client(FleetService), await on.client(AppService)];
  const made = await app.createFragment({ organizationId: orgId, name: 'base', configJson: '{"agent": {}}' });
  const id = made.fragment?.id ?? '';
  /** What becomes of the fragment that a device names with a new code of the machine. */
  const setUp = async (partId: string, named: string, as = fleet, before = async () => {}) => {
    const { code } = await as.createSetUpCode({ partId });
    await before();
    const device = newDevice();
    for (let times = 0; times < 2; times++)
      assert.equal((await redeem(on.url, code, device, undefined, '1.2.3', named)).status, 200, 'in each case');
    const { attempts } = await fleet.getSetUp({ partId });
    const { configJson, savedBy } = await fleet.getConfig({ partId });
    const first = attempts.find(({ result }) => result === SetUpResult.REDEEMED);
    return { config: JSON.parse(configJson) as object, savedBy, ...first };
  };
  const { partId } = await on.machine('m');
  const started = await setUp(partId, id.toUpperCase());
  assert.deepEqual([started.config, started.fragmentId, started.fragmentProblem], [{ fragments: [id] }, id, '']);
  assert.match(started.savedBy, /^api_key /, 'who made the code');
  const again = await setUp(partId, id);
  assert.match(again.fragmentProblem ?? '', /has a configuration already/);

  const none = await setUp((await on.machine('none')).partId, '11111111-2222-4333-8444-555555555555');
  assert.deepEqual(none.config, {});
  assert.match(none.fragmentProblem ?? '', /There is no fragment 11111111-/);
  const odd = await setUp((await on.machine('odd')).partId, 'no <b>ID</b>');
  assert.deepEqual([odd.config, odd.fragmentId], [{}, '']);

  // The owner of one machine may not name a fragment that none of its machines uses.
  const alone = await on.machine('alone');
  const key = await insertKey(on.db, {
    orgId,
    name: 'of one machine',
    grants: [{ role: 'owner', resource: 'robot', resourceId: alone.machineId, orgId }],
  });
  const limited = await on.client(FleetService, { type: 'api-key', entity: key.id, payload: key.key });
  const hidden = await setUp(alone.partId, id, limited);
  assert.deepEqual(hidden.config, {});
  assert.match(hidden.fragmentProblem ?? '', /There is no fragment/, 'absent and forbidden look the same');
  const gone = await setUp(alone.partId, id, limited, () => deleteKey(on.db, key.id));
  assert.deepEqual(gone.config, {});
  assert.match(gone.fragmentProblem ?? '', /may no longer configure/);
});
