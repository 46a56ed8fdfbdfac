// The captive portal by its bytes: probes, a form without JavaScript, and what clients must not send.
import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import { httpConnection } from '../src/endpoints/http-connection.ts';
import type { AgentPipe } from '../src/endpoints/agent-pipe.ts';
import { portal, probes } from '../src/endpoints/portal.ts';
import type { ProvisioningView, Submission, SubmissionAnswer } from '../src/network/endpoints/provisioning-view.ts';
import { sampleView } from './endpoints-rig.ts';
import { postOf, sendRaw } from './portal-requests.ts';

const token = 'a'.repeat(32);

/** The portal on a port of this process, with a clock of the test. */
async function startPortal(view: Partial<ProvisioningView> = {}) {
  const clock = new FakeClock();
  const submissions: Submission[] = [];
  const state = { activity: 0, answer: { ok: true } as SubmissionAnswer };
  const link: AgentPipe = {
    view: new Cell<ProvisioningView | undefined>({ ...sampleView, ...view }),
    active: () => void state.activity++,
    exit: () => {},
    submit: async (submission) => {
      submissions.push(submission);
      return state.answer;
    },
  };
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port}`;
  const handler = portal({ pipe: link, address: '127.0.0.1', port, token, clock });
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    httpConnection(socket, handler, clock);
  });
  const post = async (fields: Record<string, string>, options = {}) => {
    const body = new URLSearchParams({ token, ...fields }).toString();
    return sendRaw({ port }, postOf(host, body, options));
  };
  const get = (path = '/', name = host) => sendRaw({ port }, [`GET ${path} HTTP/1.1\r\nHost: ${name}\r\n\r\n`]);
  return {
    clock,
    link,
    submissions,
    state,
    port,
    host,
    post,
    get,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

for (const { by, host, path } of probes) {
  test(`${by} asks ${host}${path}: it is sent to the page, and no user counts as active`, async () => {
    await using served = await startPortal();
    const { status, text } = await served.get(path, host);
    assert.equal(status, 302);
    assert.match(text, new RegExp(`\r\nlocation: http://${served.host}/\r\n`));
    assert.match(text, /\r\ncache-control: no-store\r\n/);
    assert.equal((await served.get()).status, 200);
    assert.equal(served.state.activity, 0);
  });
}

test('without JavaScript: the form, its result by a refresh, and the reason of a failure', async () => {
  await using served = await startPortal({ hasCredentials: false });
  const url = `http://${served.host}/`;
  const page = await (await fetch(url)).text();
  const [, hidden] = /name="token" value="(\w+)"/.exec(page) ?? [];
  const [, pick] = /value="([0-9a-f]+)"[^>]*>\s*<span\s*><bdi>Farm House/.exec(page) ?? [];
  assert.ok(hidden !== undefined && pick !== undefined, page);
  const fields = { token: hidden, pick, password: 'correct horse', platformconfig: '{"cloud":{}}' };
  const saved = await fetch(`${url}save`, { method: 'POST', redirect: 'manual', body: new URLSearchParams(fields) });
  assert.deepEqual([saved.status, saved.headers.get('location')], [303, '/']);
  assert.deepEqual(served.submissions, [
    { wifi: { ssid: 'Farm House', psk: 'correct horse', isHidden: false }, credentials: '{"cloud":{}}' },
  ]);
  assert.equal(served.state.activity, 1);
  const joining = await (await fetch(url)).text();
  assert.match(joining, /joining <bdi>Farm House<\/bdi>/);
  assert.match(joining, /<noscript><meta http-equiv="refresh"/);
  assert.doesNotMatch(joining, /correct horse|cloud/);
  const failed = { ssid: 'Farm House', result: 'no-address', text: 'ip-config-unavailable', wall: 1 } as const;
  served.link.view.set({ ...sampleView, lastAttempt: failed });
  const after = await (await fetch(url)).text();
  assert.match(after, /No address from <bdi>Farm House<\/bdi>[^]*DHCP/);
  assert.doesNotMatch(after, /http-equiv="refresh"/);
});

test('a known network that failed is named with the reason, and chosen already', async () => {
  await using served = await startPortal();
  const known = { ssid: 'Farm House', result: 'wrong-password', text: '', wall: 2 } as const;
  served.link.view.set({ ...sampleView, knownFailure: known });
  const page = await (await fetch(`http://${served.host}/`)).text();
  assert.match(page, /Wrong password for <bdi>Farm House<\/bdi>/);
  assert.equal(page.match(/name="pick"[^>]* checked/g)?.length, 1);
});

test('an answer of the agent that refuses is shown, and the input of the agent is not asked twice', async () => {
  await using served = await startPortal();
  served.state.answer = { ok: false, code: 'X', text: 'The device could <not> store it.' };
  await served.post({ ssid: 'Farm House', password: 'correct horse' });
  assert.match((await served.get()).text, /The device could &lt;not&gt; store it\./);
  served.state.answer = { ok: true };
  await served.post({ ssid: 'Farm House', password: 'correct horse' });
  assert.doesNotMatch((await served.get()).text, /could &lt;not/);
});

const wifi = (ssid: string, psk: string, isHidden = false): Submission => ({ wifi: { ssid, psk, isHidden } });
const hex64 = '0123456789abcdef'.repeat(4);
const entered: readonly [
  what: string,
  fields: Record<string, string>,
  outcome: Submission | RegExp,
  view?: Partial<ProvisioningView>,
][] = [
  ['field names of other agents', { ssid: 'Farm House', password: '12345678' }, wifi('Farm House', '12345678')],
  ['a hidden network', { ssid: 'Cellar', password: 'p'.repeat(63) }, wifi('Cellar', 'p'.repeat(63), true)],
  ['a key of 64 digits', { ssid: 'Farm House', password: hex64 }, wifi('Farm House', hex64)],
  ['an open network with a password', { ssid: 'Barn Guests', password: 'not needed' }, wifi('Barn Guests', '')],
  ['a hidden open network', { ssid: 'Cellar' }, wifi('Cellar', '', true)],
  ['a name of 32 bytes', { ssid: '😈'.repeat(8) }, wifi('😈'.repeat(8), '', true)],
  ['a name of 33 bytes', { ssid: 'n'.repeat(33) }, /name of the network has 33 bytes/],
  ['a name of 33 bytes in 9 characters', { ssid: `${'😈'.repeat(8)}n` }, /name of the network has 33 bytes/],
  ['a password of 7', { ssid: 'Farm House', password: '1234567' }, /only 7 characters/],
  ['a password of 64 characters', { ssid: 'Farm House', password: 'z'.repeat(64) }, /has 64 characters/],
  ['no password', { ssid: 'Farm House' }, /Farm House needs a password/],
  ['a network of a company', { ssid: 'Office', password: '12345678' }, /needs more than a password/],
  ['nothing', {}, /Choose a network/],
  ['credentials where there are some', { ssid: 'Barn Guests', viamconfig: '{}' }, /already has credentials/],
  [
    'no credentials where there are none',
    { ssid: 'Barn Guests' },
    /Enter the set-up code or the credentials/,
    { hasCredentials: false },
  ],
  ['viamconfig', { viamconfig: '{}' }, { credentials: '{}' }, { hasCredentials: false, isOnline: true }],
  ['platformconfig', { platformconfig: '{}' }, { credentials: '{}' }, { hasCredentials: false, isOnline: true }],
  ['nothing while online', {}, /Nothing was entered/, { isOnline: true }],
  ['an old page', { token: 'b'.repeat(32), ssid: 'Barn Guests' }, /page has expired. Enter your details again/],
  ['no token', { token: '', ssid: 'Barn Guests' }, /page has expired. Enter your details again/],
];
for (const [what, fields, outcome, view] of entered) {
  test(`entered: ${what}`, async () => {
    await using served = await startPortal(view);
    const { status } = await served.post(fields);
    assert.equal(status, 303);
    assert.deepEqual(served.submissions, outcome instanceof RegExp ? [] : [outcome]);
    if (outcome instanceof RegExp) assert.match((await served.get()).text, outcome);
    assert.doesNotMatch((await served.get()).text, /12345678|zzzz|not needed/);
  });
}

const big = 'x'.repeat(64 * 1024);
const refused: readonly [what: string, parts: (host: string) => (string | Buffer)[], status: number | undefined][] = [
  ['a body over 64 KiB', (host) => postOf(host, `token=${token}&ssid=${big}`), 413],
  ['a negative length', (h) => [`POST /save HTTP/1.1\r\nHost: ${h}\r\nContent-Length: -1\r\n\r\n`], 400],
  [
    'two lengths',
    (h) => [`POST /save HTTP/1.1\r\nHost: ${h}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
    400,
  ],
  ['chunks', (h) => [`POST /save HTTP/1.1\r\nHost: ${h}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`], 411],
  ['another content type', (host) => postOf(host, '{}', { type: 'application/json' }), 415],
  ['no content type', (h) => [`POST /save HTTP/1.1\r\nHost: ${h}\r\nContent-Length: 0\r\n\r\n`], 415],
  ['a file upload', (host) => postOf(host, '--x--', { type: 'multipart/form-data; boundary=x' }), 415],
  ['invalid UTF-8', (host) => postOf(host, Buffer.from([0x73, 0x3d, 0xff, 0xfe])), 400],
  ['escapes of invalid UTF-8', (host) => postOf(host, 'ssid=%ff%fe'), 400],
  ['half an escape', (host) => postOf(host, 'ssid=%'), 400],
  ['a head over 8 KiB', (h) => [`GET / HTTP/1.1\r\nHost: ${h}\r\nX: ${'y'.repeat(9000)}\r\n\r\n`], 431],
  ['a header without a name', (h) => [`GET / HTTP/1.1\r\nHost: ${h}\r\n: x\r\n\r\n`], 400],
  ['a folded header', (h) => [`GET / HTTP/1.1\r\nHost: ${h}\r\n folded\r\n\r\n`], 400],
  ['two hosts', (h) => [`GET / HTTP/1.1\r\nHost: ${h}\r\nHost: evil\r\n\r\n`], 400],
  ['another method', (h) => [`DELETE / HTTP/1.1\r\nHost: ${h}\r\n\r\n`], 405],
  ['no HTTP at all', () => ['hello\r\n\r\n'], 400],
  ['TLS', () => [Buffer.from('16030100050100000100', 'hex')], undefined],
  ['half a request', () => ['GET / HT'], undefined],
  ['half a body', (h) => [`POST /save HTTP/1.1\r\nHost: ${h}\r\nContent-Length: 9\r\n\r\nabc`], undefined],
  ['a form of another site', (host) => postOf(host, `token=${token}`, { headers: 'Origin: http://evil\r\n' }), 403],
  ['a form of a file or frame', (host) => postOf(host, `token=${token}`, { headers: 'Origin: null\r\n' }), 403],
  ['a form to another name', () => postOf('evil.example', `token=${token}`), 403],
  ['a form to another path', (host) => postOf(host, '', { path: '/other' }), 404],
];
for (const [what, parts, status] of refused) {
  test(`refused: ${what}`, async () => {
    await using served = await startPortal();
    const answer = await sendRaw(served, parts(served.host));
    assert.equal(answer.status, status, answer.text);
    assert.deepEqual(served.submissions, []);
    assert.equal((await served.get()).status, 200, 'it goes on serving');
  });
}

test('a name that a web page made point here reads nothing: it is sent away', async () => {
  await using served = await startPortal();
  const { status, text } = await served.get('/', 'rebind.evil.example');
  assert.equal(status, 302);
  assert.doesNotMatch(text, /token|Farm House/);
});

test('one request a connection: a second one in the same bytes is not read', async () => {
  await using served = await startPortal();
  const body = new URLSearchParams({ token, ssid: 'Barn Guests' }).toString();
  const [head, form] = postOf(served.host, body);
  const { text } = await sendRaw(served, [`GET / HTTP/1.1\r\nHost: ${served.host}\r\n\r\n${head}${String(form)}`]);
  assert.equal(text.match(/HTTP\/1\.1 /g)?.length, 1);
  assert.deepEqual(served.submissions, []);
});

test('a request in single bytes is read', async () => {
  await using served = await startPortal();
  const [head, body] = postOf(served.host, new URLSearchParams({ token, ssid: 'Barn Guests' }).toString());
  const { status } = await sendRaw(served, `${head}${String(body)}`.split(''));
  assert.equal(status, 303);
  assert.equal(served.submissions.length, 1);
});

for (const [what, part] of [
  ['nothing', ''],
  ['half a head', 'GET / HTTP/1.1\r\nHost: '],
  ['half a body', 'POST /save HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc'],
] as const) {
  test(`a client that sends ${what} is cut off after 10 seconds`, async () => {
    await using served = await startPortal();
    let isOver = false;
    const answer = sendRaw(served, [part], { isOpen: true }).finally(() => (isOver = true));
    while (served.clock.pending === 0) await served.clock.settle();
    await served.clock.advance(9_999);
    assert.equal((await served.get()).status, 200);
    assert.equal(isOver, false);
    await served.clock.advance(1);
    assert.equal((await answer).status, undefined);
  });
}
