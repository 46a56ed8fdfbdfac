// Secrets of configurations: every reader but the machine gets a placeholder, which keeps the value when it is saved.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { JsonObject } from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import { secretPlaceholder } from '@platform/contract/config/placeholders';
import { errorCodeOf } from '@platform/contract/errors/errors';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { ConfigProblemsSchema, FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import type { Clock } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { insertKey } from '../src/access/store/keys.ts';
import { testServer } from './server.ts';
import { cookieIn, signIn } from './sign-in.ts';
import { turnedClock } from './turned-clock.ts';

/** Spacing, order, numbers and an escape that no JSON writer would write again. */
const typed = `{"agent": { "additional_networks": [
    {"type":"wifi",  "ssid":"Yard", "psk":"yard \\u0073ecret", "priority":1e1},
    {"type":"wifi", "ssid":"Barn", "psk":"barn secret"} ],
  "network_configuration": {"hotspot_password" : "hot secret"} }, "components": [] }`;

const shown = typed
  .replace('"yard \\u0073ecret"', JSON.stringify(secretPlaceholder))
  .replace('"barn secret"', JSON.stringify(secretPlaceholder))
  .replace('"hot secret"', JSON.stringify(secretPlaceholder));

async function world(clock: Clock = systemClock) {
  const on = await testServer([], {}, clock);
  const { partId, part } = await on.machine('m');
  const fleet = await on.client(FleetService);
  const app = await on.client(AppService);
  const stored = async (): Promise<string> => {
    const rows = on.db.selectFrom('configRevision').select('text').where('partId', '=', partId);
    return (await rows.orderBy('revision', 'desc').executeTakeFirstOrThrow()).text;
  };
  return { on, partId, part, fleet, app, stored, [Symbol.asyncDispose]: () => on[Symbol.asyncDispose]() };
}

/** The paths of the problems for which a save was refused. */
async function refusedPaths(save: Promise<unknown>): Promise<string[]> {
  const error = await save.then(
    () => assert.fail('it was saved'),
    (thrown: unknown) => ConnectError.from(thrown),
  );
  assert.equal(errorCodeOf(error), 'INVALID_CONFIG');
  return error.findDetails(ConfigProblemsSchema).flatMap(({ problems }) => problems.map(({ path }) => path));
}

test('readers get the text as typed, with the placeholder for each secret; the machine gets the secrets', async () => {
  await using here = await world();
  const { on, partId, part, fleet, app } = here;
  await fleet.saveConfig({ partId, configJson: typed });
  await fleet.saveConfig({ partId, configJson: `${typed}\n` });
  assert.equal((await fleet.getConfig({ partId, revision: 1n })).configJson, shown);
  const read = await app.getRobotPart({ id: partId });
  assert.equal(read.configJson, `${shown}\n`);
  assert.equal(read.part?.robotConfigJson, `${shown}\n`);
  assert.deepEqual(read.part?.robotConfig, JSON.parse(shown));
  const { history } = await app.getRobotPartHistory({ id: partId });
  assert.equal(history[0]?.old?.robotConfigJson, shown);
  const readsAs = async (who: typeof part) =>
    (await (await on.client(AgentDeviceService, who)).deviceAgentConfig({ id: partId })).agent;
  assert.deepEqual(await readsAs(part), JSON.parse(typed).agent);
});

test('an agent that signs in with a key gets the secrets with that of an owner, and never a placeholder', async () => {
  await using here = await world();
  const { on, partId, part, fleet } = here;
  const grants = [
    { role: 'operator' as const, resource: 'organization' as const, resourceId: on.orgId, orgId: on.orgId },
  ];
  const made = await insertKey(on.db, { orgId: on.orgId, name: 'operator', grants });
  const operator = { type: 'api-key' as const, entity: made.id, payload: made.key };
  const agentAs = async (who: typeof part) =>
    (await (await on.client(AgentDeviceService, who)).deviceAgentConfig({ id: partId })).agent;
  const open = { agent: { additional_networks: [{ type: 'wifi', ssid: 'Guest' }] } };
  await fleet.saveConfig({ partId, configJson: JSON.stringify(open) });
  assert.deepEqual(await agentAs(operator), open.agent);
  await fleet.saveConfig({ partId, configJson: typed });
  for (const who of [part, on.owner, part]) assert.deepEqual(await agentAs(who), JSON.parse(typed).agent);
  await assert.rejects(agentAs(operator), (error) => errorCodeOf(error) === 'NOT_OWNER');
  assert.deepEqual(await agentAs(part), JSON.parse(typed).agent);
});

test('saving what was read keeps every byte and its fingerprint, also by the calls of public clients', async () => {
  await using here = await world();
  const { partId, fleet, app, stored } = here;
  await fleet.saveConfig({ partId, configJson: typed });
  await fleet.saveConfig({ partId, configJson: shown });
  assert.equal(await stored(), typed);
  const { part } = await app.getRobotPart({ id: partId });
  await app.updateRobotPart({ id: partId, name: '', robotConfigJson: part?.robotConfigJson ?? '' });
  assert.equal(await stored(), typed);
  const { revisions } = await fleet.listConfigRevisions({ partId });
  assert.equal(new Set(revisions.map(({ sha256 }) => sha256)).size, 1);
  // The struct has no order and no spacing; its values come back.
  const robotConfig = structuredClone(part?.robotConfig ?? {}) as { agent: { additional_networks: object[] } };
  robotConfig.agent.additional_networks.reverse();
  const answer = await app.updateRobotPart({ id: partId, name: '', robotConfig: robotConfig as object as JsonObject });
  assert.deepEqual(
    JSON.parse(await stored()).agent.additional_networks.map((one: { psk: string }) => one.psk),
    ['barn secret', 'yard secret'],
  );
  assert.ok(!JSON.stringify(answer.part?.robotConfig).includes('barn secret'));
});

test('a placeholder without a saved value is refused with its path, and nothing is saved', async () => {
  await using here = await world();
  const { on, partId, fleet, app, stored } = here;
  await fleet.saveConfig({ partId, configJson: typed });
  const copy = (await on.machine('copy')).partId;
  assert.deepEqual(await refusedPaths(fleet.saveConfig({ partId: copy, configJson: shown })), [
    'agent.additional_networks[0].psk',
    'agent.additional_networks[1].psk',
    'agent.network_configuration.hotspot_password',
  ]);
  const cafe = shown.replace('"Yard"', '"Cafe"');
  assert.deepEqual(await refusedPaths(app.updateRobotPart({ id: partId, name: '', robotConfigJson: cafe })), [
    'agent.additional_networks[0].psk',
  ]);
  assert.equal(await stored(), typed);
  const { problems } = await fleet.checkConfig({ configJson: shown });
  assert.equal(problems.length, 3);
  assert.deepEqual((await fleet.checkConfig({ configJson: shown, partId })).problems, []);
});

test('a new secret is stored and never shown, also in the remarks about it', async () => {
  await using here = await world();
  const { partId, fleet, stored } = here;
  await fleet.saveConfig({ partId, configJson: typed });
  const changed = shown.replace(JSON.stringify(secretPlaceholder), '"fresh secret"');
  const saved = await fleet.saveConfig({ partId, configJson: changed });
  assert.deepEqual(saved.problems, []);
  assert.equal(await stored(), typed.replace('yard \\u0073ecret', 'fresh secret'));
  assert.equal((await fleet.getConfig({ partId })).configJson, shown);
  const { problems } = await fleet.checkConfig({ partId, configJson: changed.replace('fresh secret', 'short') });
  assert.equal(problems.length, 1);
  assert.ok(!JSON.stringify(problems.map(({ message, remedy }) => [message, remedy])).includes('short"'));
});

test('a save meanwhile leads to a conflict, never to a secret of another revision', async () => {
  await using here = await world();
  const { partId, fleet } = here;
  await fleet.saveConfig({ partId, configJson: typed });
  const saves = await Promise.allSettled(
    Array.from({ length: 4 }, () => fleet.saveConfig({ partId, configJson: shown })),
  );
  const codes = saves.map((one) => (one.status === 'rejected' ? errorCodeOf(one.reason) : 'saved'));
  assert.ok(codes.includes('saved'));
  assert.deepEqual(
    codes.filter((code) => code !== 'saved' && code !== 'CONFIG_CONFLICT'),
    [],
  );
});

/** Calls as a browser with this cookie. @returns the answer, or the code of the error */
async function asBrowser(url: string, cookie: string, call: string, message: object): Promise<Record<string, unknown>> {
  const headers = { cookie, 'content-type': 'application/json', 'connect-protocol-version': '1' };
  const answer = await fetch(`${url}/${call}`, { method: 'POST', headers, body: JSON.stringify(message) });
  return (await answer.json()) as Record<string, unknown>;
}

test('owners reveal secrets within ten minutes of signing in, in a browser, and it is audited without the values', async () => {
  const { clock, advance } = turnedClock();
  await using here = await world(clock);
  const { on, partId, fleet } = here;
  await fleet.saveConfig({ partId, configJson: typed });
  const link = (await (await on.client(SessionService)).createSignInLink({})).url;
  const cookie = cookieIn(await signIn(link));
  const reveal = (with_: string, of: object) =>
    asBrowser(on.url, with_, 'platform.fleet.v1.FleetService/RevealSecrets', { partId, ...of });
  const path = 'agent.additional_networks[1].psk';
  assert.deepEqual(await reveal(cookie, { paths: [path] }), { secrets: [{ path, value: 'barn secret' }] });
  assert.equal(((await reveal(cookie, {}))['secrets'] as object[]).length, 3);
  assert.equal((await reveal(cookie, { paths: ['agent.x'] }))['code'], 'invalid_argument');
  const moved = `{"agent":{"additional_networks":{"b":{"ssid":"Barn","psk":${JSON.stringify(secretPlaceholder)}}}}}`;
  const ofMoved = { paths: ['agent.additional_networks.b.psk'], configJson: moved };
  assert.deepEqual(await reveal(cookie, ofMoved), {
    secrets: [{ path: 'agent.additional_networks.b.psk', value: 'barn secret' }],
  });
  await assert.rejects(fleet.revealSecrets({ partId }), (error) => errorCodeOf(error) === 'SIGN_IN_NOT_RECENT');
  const { entries } = await (await on.client(AuditService)).listAuditEntries({ organizationId: on.orgId });
  const found = entries.filter(({ action }) => action === 'reveal secrets');
  assert.equal(found.length, 3);
  for (const one of [found[0], found[2]])
    assert.match(JSON.stringify(one?.details), /\["agent\.additional_networks\[1\]\.psk"\]/);
  assert.ok(!JSON.stringify(entries.map(({ details }) => details)).includes('barn secret'));
  // A session cannot renew its sign-in by a link that it created itself.
  advance(9 * 60_000);
  const own = (await asBrowser(on.url, cookie, 'platform.session.v1.SessionService/CreateSignInLink', {}))['url'];
  const renewed = cookieIn(await signIn(String(own)));
  assert.ok((await reveal(renewed, {}))['secrets']);
  advance(2 * 60_000);
  assert.equal((await reveal(cookie, {}))['code'], 'failed_precondition');
  assert.equal((await reveal(renewed, {}))['code'], 'failed_precondition');
  const again = cookieIn(await signIn((await (await on.client(SessionService)).createSignInLink({})).url));
  assert.ok((await reveal(again, {}))['secrets']);
});

test('a restored revision keeps its own secrets; what it has none of comes from the newest', async () => {
  await using here = await world();
  const { partId, fleet, stored } = here;
  await fleet.saveConfig({ partId, configJson: typed });
  const later = `{"agent":{"additional_networks":[{"type":"wifi","ssid":"Yard","psk":"later secret"},{"type":"wifi","ssid":"Shed","psk":"shed secret"}]}}`;
  await fleet.saveConfig({ partId, configJson: later });
  const old = await fleet.getConfig({ partId, revision: 1n });
  assert.equal((await fleet.checkConfig({ partId, configJson: old.configJson })).problems.length, 2);
  const check = await fleet.checkConfig({ partId, configJson: old.configJson, secretsOfRevision: 1n });
  assert.deepEqual(check.problems, []);
  await fleet.saveConfig({ partId, configJson: old.configJson, secretsOfRevision: 1n });
  assert.equal(await stored(), typed);
  const mixed = (await fleet.getConfig({ partId, revision: 2n })).configJson;
  await fleet.saveConfig({ partId, configJson: later });
  await fleet.saveConfig({ partId, configJson: mixed, secretsOfRevision: 1n });
  assert.equal(await stored(), later.replace('later secret', 'yard \\u0073ecret'));
  const absent = fleet.saveConfig({ partId, configJson: mixed, secretsOfRevision: 99n });
  await assert.rejects(absent, (error) => errorCodeOf(error) === 'INVALID_ARGUMENT');
});

test('marks say which secrets are equal; neither they nor the hash of a revision can be tried out', async () => {
  await using here = await world();
  const { on, partId, fleet } = here;
  await fleet.saveConfig({ partId, configJson: typed });
  await fleet.saveConfig({ partId, configJson: typed.replace('barn secret', 'other secret') });
  const marksOf = async (id: string, revision: bigint) =>
    (await fleet.getConfig({ partId: id, revision })).secrets.map(({ mark }) => mark);
  const one = await marksOf(partId, 1n);
  const two = await marksOf(partId, 2n);
  assert.deepEqual(
    one.map((mark, at) => mark === two[at]),
    [true, false, true],
  );
  const copy = (await on.machine('copy')).partId;
  await fleet.saveConfig({ partId: copy, configJson: typed });
  assert.ok((await marksOf(copy, 1n)).every((mark) => !one.includes(mark)));
  const { revisions } = await fleet.listConfigRevisions({ partId: copy });
  assert.notEqual(revisions[0]?.sha256, createHash('sha256').update(typed).digest('hex'));
  await fleet.saveConfig({ partId: copy, configJson: '{ }' });
  const open = (await fleet.listConfigRevisions({ partId: copy })).revisions;
  assert.equal(open[0]?.sha256, createHash('sha256').update('{ }').digest('hex'));
});
