import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { GetSetUpResponseSchema, SetUpResult } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { setUpDiagnostics } from './set-up.ts';

const [createdOn, now] = [1_000_000, 2_000_000];
const at = timestampFromMs;

const rows: [
  what: string,
  setUp: Parameters<typeof create<typeof GetSetUpResponseSchema>>[1],
  lastSeen: number | undefined,
  texts: RegExp[],
][] = [
  ['nothing yet', {}, undefined, []],
  ['a problem of the server', { serverProblems: ['The certificate expired.'] }, undefined, [/certificate expired/]],
  ['redeemed just now', { redeemedOn: at(now - 60_000) }, undefined, []],
  ['redeemed a while ago, no contact', { redeemedOn: at(now - 60_001) }, undefined, [/has not connected since/]],
  ['redeemed, with contact before only', { redeemedOn: at(now - 60_001) }, now - 70_000, [/has not connected since/]],
  ['redeemed, with contact', { redeemedOn: at(now - 60_001) }, now - 60_000, []],
  ['a code of no machine, guessed', { unknownCodeOn: at(now - 5) }, undefined, [/^Refused: a code of no machine/]],
  ['a code of no machine, before this code', { unknownCodeOn: at(createdOn - 1) }, undefined, []],
  [
    'attempts since the code was created',
    {
      attempts: [
        { time: at(now), result: SetUpResult.SIMILAR, address: '203.0.113.7', agentVersion: '1.2.3' },
        { time: at(now - 1), result: SetUpResult.REPLACED, address: '203.0.113.7', agentVersion: '' },
        { time: at(createdOn - 1), result: SetUpResult.EXPIRED, address: '203.0.113.7', agentVersion: '' },
      ],
    },
    undefined,
    [/one letter.*\(agent 1\.2\.3, from 203\.0\.113\.7\)/, /the code before this one.*an agent too old/],
  ],
  [
    'the fragment that a device names',
    {
      attempts: [
        { time: at(now), result: SetUpResult.REPEATED, agentVersion: '1.2.3', fragmentId: 'f-1' },
        {
          time: at(now),
          result: SetUpResult.REDEEMED,
          agentVersion: '1.2.3',
          fragmentId: 'f-2',
          fragmentProblem: 'There is no fragment f-2.',
        },
      ],
    },
    undefined,
    [
      /f-1: its machine has started with it/,
      /again/,
      /f-2, and its machine does not use it. There is no/,
      /got its cred/,
    ],
  ],
];
for (const [what, setUp, lastSeen, texts] of rows)
  test(`diagnostics: ${what}`, () => {
    const response = create(GetSetUpResponseSchema, { createdOn: at(createdOn), ...setUp });
    const found = setUpDiagnostics(response, { lastSeen, now });
    assert.equal(found.length, texts.length, JSON.stringify(found));
    for (const [index, pattern] of texts.entries()) assert.match(found[index]?.text ?? '', pattern);
    assert.deepEqual(
      found.map(({ isGuess }) => isGuess),
      found.map(({ text }) => text.includes('code of no machine')),
    );
  });
