import assert from 'node:assert/strict';
import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { askNameServer } from '../../os/ask-name-server.ts';
import type { Connectivity } from '../../os/network-port.ts';
import { probeInternet, nameAnswer, nameQuestion } from './internet-probe.ts';

type Kind = 'authority' | 'wildcard' | 'made up' | 'failure' | 'silent' | 'foreign id';

const flags: Readonly<Record<Kind, number>> = {
  authority: 0x8183,
  wildcard: 0x8180,
  'made up': 0x8183,
  failure: 0x8182,
  silent: 0,
  'foreign id': 0x8183,
};
/** A record for the name of the question, with empty data. */
const record = (type: number): Buffer => Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, 0]);

function answerTo(question: Buffer, kind: Kind): Buffer {
  const header = Buffer.from(question.subarray(0, 12));
  if (kind === 'foreign id') header.writeUInt16BE((question.readUInt16BE(0) + 1) & 0xffff, 0);
  header.writeUInt16BE(flags[kind], 2);
  const hasAuthority = kind === 'authority' || kind === 'foreign id';
  header.writeUInt16BE(kind === 'wildcard' ? 1 : 0, 6);
  header.writeUInt16BE(hasAuthority ? 2 : 0, 8);
  const records = hasAuthority ? [record(46), record(6)] : kind === 'wildcard' ? [record(16)] : [];
  return Buffer.concat([header, question.subarray(12), ...records]);
}

/** What the probe finds beside a name server of a kind. `asked`: the names in its questions. */
async function found(
  kind: Kind,
  how: { host?: string; isAnswering?: boolean; isIntercepted?: boolean } = {},
): Promise<{ connectivity: Connectivity; asked: string[] }> {
  const server = createSocket('udp4');
  const asked: string[] = [];
  server.on('message', (question: Buffer, from: RemoteInfo) => {
    asked.push(question.subarray(13, -5).toString('latin1'));
    if (kind !== 'silent') server.send(answerTo(question, kind), from.port, from.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  const probe = {
    host: how.host ?? 'app.example.test',
    isAnswering: async () => how.isAnswering ?? false,
    isIntercepted: async () => how.isIntercepted ?? false,
    ask: <T>(name: string, question: Buffer, isAnswer: (answer: Buffer) => T | undefined, signal: AbortSignal) =>
      askNameServer({ server: name, question, pausesMs: [200, 200], clock: systemClock, port }, isAnswer, signal),
  };
  const connectivity = await probeInternet(probe, ['127.0.0.1'], new AbortController().signal);
  server.close();
  return { connectivity, asked };
}

const rows: [name: string, kind: Kind, how: Parameters<typeof found>[1], expected: Connectivity][] = [
  ['the management server answers', 'silent', { isAnswering: true }, 'full'],
  ['it is away; the authority of its name answers', 'authority', {}, 'full'],
  ['it is away; a portal answers every name', 'wildcard', {}, 'limited'],
  ['it is away; the router makes up that the name does not exist', 'made up', {}, 'limited'],
  ['it is away; the router cannot ask', 'failure', {}, 'limited'],
  ['it is away; packets are swallowed', 'silent', {}, 'limited'],
  ['it is away; an answer to another question', 'foreign id', {}, 'limited'],
  ['a portal answers in its place, and lets names through', 'authority', { isIntercepted: true }, 'portal'],
  ['no server is known; names are answered', 'authority', { host: '' }, 'full'],
  ['no server is known; the network answers something', 'made up', { host: '' }, 'unknown'],
  ['no server is known; nothing answers', 'silent', { host: '' }, 'limited'],
];
for (const [name, kind, how, expected] of rows)
  test(`probe: ${name}`, async () => assert.equal((await found(kind, how)).connectivity, expected));

test('each question is a new name below the server, so that no cache answers', async () => {
  const names = [...(await found('authority')).asked, ...(await found('authority')).asked];
  assert.equal(new Set(names).size, 2);
  for (const name of names) assert.match(name, /^[0-9a-f]{16}.app.example.test$/s);
});

test('no name server and no server: nothing was checked', async () => {
  const probe = {
    host: '',
    isAnswering: async () => false,
    isIntercepted: async () => false,
    ask: async () => undefined,
  };
  assert.equal(await probeInternet(probe, [], new AbortController().signal), 'unknown');
});

test('any bytes: not an answer, or one that proves nothing', () => {
  const question = nameQuestion(7, 'a.example.test');
  const whole = answerTo(question, 'authority');
  assert.equal(nameAnswer(question, whole), 'authority');
  for (let length = 0; length < whole.length; length++)
    assert.ok(['something', undefined, 'authority'].includes(nameAnswer(question, whole.subarray(0, length))));
  assert.equal(nameAnswer(question, question), undefined, 'a question in place of an answer');
});
