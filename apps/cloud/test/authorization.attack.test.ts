// Authorization: every routed call and page is requested by every kind of caller. The tables of rights
// (attack/rights-of-*.ts) list the expected answers.
import assert from 'node:assert/strict';
import test from 'node:test';
import { makeKeyFolder, readKeyFolders } from '@platform/releases/key-folder';
import { tempFolder } from '@platform/kit/testing';
import { attackRounds } from '../../../e2e/src/attack-rounds.ts';
import type { Route } from '../src/wire/exchange.ts';
import { callOf, type Headers, outcomeOf, pageOutcome, pathOf, type Wire, wireTo } from './attack/ask.ts';
import { unproven } from './attack/callers.ts';
import { contentsOf } from './attack/contents.ts';
import { type Trial, tryAll } from './attack/matrix.ts';
import type { Right } from './attack/rights.ts';
import { rightsOfBulk } from './attack/rights-of-bulk.ts';
import { rightsOfConditions } from './attack/rights-of-conditions.ts';
import { rightsOfData, rightToWipe } from './attack/rights-of-data.ts';
import { rightsOfMachines } from './attack/rights-of-machines.ts';
import { type PageRight, rightsOfPages } from './attack/rights-of-pages.ts';
import { rightsOfTraining, rightToSign } from './attack/rights-of-training.ts';
import { listedRoutes, routedCalls } from './attack/routed.ts';
import { makeWorld, type World } from './attack/world.ts';

/** Browsers of other sites cannot send this header without a preflight. */
const ofCall = 'connect-protocol-version';
const bare = 'cookie without the header of a call';
/** Takes credentials in the request; a separate test covers them. */
const open: ReadonlySet<string> = new Set(['proto.rpc.v1.AuthService/Authenticate']);

/** Creates one trial for each row. A routed call without a row, or a row without a routed call, is an error. */
async function trialsOfCalls(world: World, wire: Wire, rights: readonly Right[]): Promise<Trial[]> {
  const methods = new Map((await routedCalls(wire)).map((method) => [pathOf(method).slice(1), method]));
  const described = new Set(rights.map(({ call }) => call));
  assert.deepEqual(
    [...methods.keys()].filter((call) => !described.has(call) && !open.has(call)),
    [],
    'calls without a row in the tables of rights',
  );
  return rights.map(({ call, answers, ask, after }) => {
    const method = methods.get(call);
    assert.ok(method, `${call} has a row, and is not routed`);
    return {
      what: call,
      answers,
      after,
      ofUnauthenticated: () => 'not authenticated',
      async prepare() {
        const { messages, ...subject } = await ask(world);
        const send = async ({ [bare]: isBare, ...headers }: Headers) =>
          outcomeOf(await wire.send(callOf(method, messages, isBare ? headers : { [ofCall]: '1', ...headers })));
        return { text: JSON.stringify(messages).slice(0, 300), subject, send };
      },
    };
  });
}

/** Finds the first matching route. */
const routeOf = (routes: readonly Route[], method: string, url: string): Route | undefined =>
  routes.find(
    ({ path, methods }) => path.test(url.split('?')[0] ?? '') && (methods as readonly string[]).includes(method),
  );

/** Like trialsOfCalls, for pages; a page with GET also allows HEAD. A route without a row is an error. */
async function trialsOfPages(world: World, wire: Wire, rights: readonly PageRight[]): Promise<Trial[]> {
  const routes = listedRoutes();
  const described = new Set<Route | undefined>();
  const trials: Trial[] = [];
  for (const right of rights) {
    const { path } = await right.ask(world);
    const route = routeOf(routes, right.method, path);
    described.add(route);
    trials.push(trialOfPage(world, wire, right, right.method));
    const isHead = right.method === 'GET' && route !== undefined && routeOf(routes, 'HEAD', path) === route;
    if (isHead && attackRounds(1, 0) > 0) trials.push(trialOfPage(world, wire, right, 'HEAD'));
  }
  assert.deepEqual(
    routes.filter((route) => !described.has(route)).map(({ methods, path }) => `${methods.join()} ${path.source}`),
    [],
    'pages without a row in the tables of rights',
  );
  return trials;
}

const trialOfPage = (
  world: World,
  wire: Wire,
  { what, ask, ofUnauthenticated, answers }: PageRight,
  method: string,
): Trial => ({
  what: `${method} ${what}`,
  answers: method === 'HEAD' ? bodiless(answers) : answers,
  ofUnauthenticated: (who) => (method === 'HEAD' && ofUnauthenticated(who) === 'shows' ? 'ok' : ofUnauthenticated(who)),
  async prepare() {
    const { path, body, ...subject } = await ask(world);
    const send = async (headers: Headers) => {
      const length = body && { 'content-length': String(body.length) };
      return pageOutcome(await wire.send({ method, path, headers: { ...length, ...headers }, ...(body && { body }) }));
    };
    return { text: `${method} ${path}`, subject, send };
  },
});

const bodiless = (answers: Trial['answers']): Trial['answers'] =>
  Object.fromEntries(
    Object.entries(answers).map(([who, answer]) => [who, answer === 'shows' ? 'ok' : answer]),
  ) as Trial['answers'];

test('every call and every page, by everybody: the answer of the table, and nothing changes without a right', async (t) => {
  await using world = await makeWorld();
  await using folder = await tempFolder();
  await makeKeyFolder(folder.path, 1);
  using wire = wireTo(world.on.url);
  const calls = [
    ...rightsOfData,
    ...rightsOfBulk,
    ...rightsOfConditions,
    ...rightsOfMachines,
    ...rightsOfTraining,
    rightToSign(await readKeyFolders([folder.path])),
    rightToWipe,
  ];
  const contents = await contentsOf(world.on.db, world.on.server.dataFolder);
  const unauthenticated = await unproven(world);
  const live = unauthenticated['cookie of a foreign origin']?.['cookie'] ?? '';
  const ofCalls = await tryAll(
    { world, contents, unauthenticated: { ...unauthenticated, [bare]: { cookie: live, [bare]: '1' } } },
    await trialsOfCalls(world, wire, calls),
  );
  const ofPages = await tryAll({ world, contents, unauthenticated }, await trialsOfPages(world, wire, rightsOfPages));
  t.diagnostic(`calls ${JSON.stringify(ofCalls.counts)}, pages ${JSON.stringify(ofPages.counts)}`);
  const wrong = [...ofCalls.wrong, ...ofPages.wrong];
  for (const line of wrong) t.diagnostic(line);
  assert.equal(wrong.length, 0, 'wrong answers: the lines above name them');
});
