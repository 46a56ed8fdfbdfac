import assert from 'node:assert/strict';
import { test } from 'node:test';
import { excess, readLimits } from './house/limits.ts';
import { countsOf, forbiddenPlaces, placesInText, standardFor } from './house/words.ts';

test('no folder uses more words of its own making than tools/house/words.json still allows', () => {
  const counts = countsOf(forbiddenPlaces());
  const more = excess(readLimits('words'), counts).map((line) => {
    const [folder = '', word = ''] = /^(.*?): (.*?) (?:is \d|needs)/.exec(line)?.slice(1) ?? [];
    return `${line} [${word} → ${standardFor(word)}; node tools/words.ts ${folder} lists the places]`;
  });
  assert.deepEqual(more, []);
});

const wire = new Set(['toldOnWire']);
const rows: [file: string, text: string, words: string[]][] = [
  ['a.ts', 'const toldTwice = readPicture(WISH);', ['told', 'picture', 'wish']],
  ['a.ts', 'const stole = retold + tellApart;', []],
  ['a.ts', 'const wanted_picture = PICTURE_TOO_LARGE;', []],
  ['a.ts', 'send({ toldOnWire: 1 });', []],
  ['a.ts', "flags('--pictures', 'pictures of a folder');", ['pictures']],
  ['a.ts', '/** Of each picture the best. */', ['picture', 'Of …']],
  [
    'a.ts',
    '// A failure is no error. It is no longer asked, so many are. There is no rest; there is no timer.',
    ['is no …', 'so many'],
  ],
  ['a.md', 'The agent takes itself back and is asked again.', ['is asked', 'taken back']],
  ['a.md', 'See `told`, “told” and [it](told.md).\n```\npicture\n```\n', []],
  ['a.proto', '  string picture = 1; // The picture.', ['picture']],
  ['packages/kit/src/a.ts', 'export interface Machine<S, E, F> {', ['machine: states']],
  ['packages/kit/src/a.ts', 'const machine: StateMachine<S, E, F> = machineOf(x);', []],
  ['apps/cloud/src/a.ts', 'type Machine = { id: string };', []],
  [
    'apps/agent/src/a.ts',
    "import { planRelease } from '../network/release.ts';",
    ['release: networks', 'release: networks'],
  ],
  ['apps/agent/src/a.ts', 'outputs.release(); fetchRelease(version);', []],
  ['apps/agent/src/endpoints/a.ts', 'await link.submit(entered);', ['link: pipe']],
  ['apps/agent/src/a.ts', 'export interface PollParts { partId: string }', ['part: not a host']],
  ['apps/agent/src/a.ts', "import { SystemParts } from './system-parts.ts';", ['part: not a host']],
  ['apps/cloud/src/a.ts', "export type PartRow = Row; import { ownPart } from './part-access.ts';", []],
  ['packages/kit/src/a.ts', 'export function tagPart(text: string) {}', ['part: not a host']],
  ['packages/contract/src/a.ts', 'export const partIdLength = 36, start = 1;', []],
  ['packages/contract/src/gen/a.ts', 'export type RobotPart = Message;', []],
  ['apps/agent/src/endpoints/a.ts', '<link rel="stylesheet" href="/portal.css" />', []],
];
for (const [file, text, words] of rows) {
  test(`${file}: ${text}`, () =>
    assert.deepEqual(
      [...placesInText(file, text, wire)].map(({ word }) => word),
      words,
    ));
}
