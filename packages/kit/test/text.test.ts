import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { decodeText, NotText } from '../src/index.ts';
import { readPem, readText, readTextSync } from '../src/node/index.ts';
import { tempFolder } from '../src/testing/index.ts';

const utf16 = (text: string, order: 'LE' | 'BE'): Buffer => {
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le');
  return order === 'LE' ? bytes : bytes.swap16();
};

const readable: [what: string, bytes: Uint8Array, text: string][] = [
  ['nothing', Buffer.alloc(0), ''],
  ['UTF-8', Buffer.from('Müller 🙂\r\n'), 'Müller 🙂\r\n'],
  ['UTF-8 with a mark', Buffer.from('\uFEFF{"a": 1}'), '{"a": 1}'],
  ['a second mark is text', Buffer.from('\uFEFF\uFEFFa'), '\uFEFFa'],
  ['a replacement character that the user wrote', Buffer.from('a\uFFFDb'), 'a\uFFFDb'],
  ['UTF-16, little endian', utf16('Käsehof 🙂', 'LE'), 'Käsehof 🙂'],
  ['UTF-16, big endian', utf16('Käsehof 🙂', 'BE'), 'Käsehof 🙂'],
  ['long UTF-16 with pairs at every boundary', utf16('a🙂'.repeat(40_000), 'BE'), 'a🙂'.repeat(40_000)],
  ['only the mark of UTF-16', utf16('', 'LE'), ''],
];
for (const [what, bytes, text] of readable) test(`text: ${what}`, () => assert.equal(decodeText(bytes), text));

const refused: [what: string, bytes: Uint8Array, problem: string][] = [
  ['Latin-1', Buffer.from('{"name": "Müller"}', 'latin1'), 'it is not valid UTF-8: byte 0xFC at offset 11, in line 1'],
  ['Latin-1, later', Buffer.from('a\n\nKäse', 'latin1'), 'it is not valid UTF-8: byte 0xE4 at offset 4, in line 3'],
  [
    'a stray byte after a letter',
    Buffer.from('c3a980', 'hex'),
    'it is not valid UTF-8: byte 0x80 at offset 2, in line 1',
  ],
  ['a letter cut off', Buffer.from('61e282', 'hex'), 'it is not valid UTF-8: byte 0xE2 at offset 1, in line 1'],
  ['an overlong form', Buffer.from('61c0af', 'hex'), 'it is not valid UTF-8: byte 0xC0 at offset 1, in line 1'],
  ['a surrogate in UTF-8', Buffer.from('61eda080', 'hex'), 'it is not valid UTF-8: byte 0xED at offset 1, in line 1'],
  ['beyond Unicode', Buffer.from('f4908080', 'hex'), 'it is not valid UTF-8: byte 0xF4 at offset 0, in line 1'],
  ['a mark, then Latin-1', Buffer.from('efbbbf61fc', 'hex'), 'it is not valid UTF-8: byte 0xFC at offset 4, in line 1'],
  [
    'UTF-16 with an odd byte',
    Buffer.from('fffe610062', 'hex'),
    'it is not valid UTF-16LE: half a character at offset 4, in line 1',
  ],
  [
    'UTF-16 with half a pair',
    Buffer.from('feff000ad83d0061', 'hex'),
    'it is not valid UTF-16BE: half of a pair, 0xD83D, at offset 4, in line 2',
  ],
  ['UTF-32', Buffer.from('fffe000061000000', 'hex'), 'it is in UTF-32, which is not supported'],
];
for (const [what, bytes, problem] of refused) {
  test(`not text: ${what}`, () =>
    assert.throws(
      () => decodeText(bytes, 'x.json'),
      (error) => error instanceof NotText && error.message === problem && error.source === 'x.json',
    ));
}

test('every single wrong byte is found where it is', () => {
  const text = Buffer.from('Grüße aus Köln 🙂 – 東京');
  for (let at = 0; at <= text.length; at++) {
    const damaged = Buffer.concat([text.subarray(0, at), Buffer.from([0xff]), text.subarray(at)]);
    assert.throws(
      () => decodeText(damaged),
      (error) => error instanceof NotText && error.offset <= at && error.offset > at - 4,
    );
  }
});

test('files are read strictly, PEM files by their blocks', async () => {
  await using folder = await tempFolder();
  const file = folder.file('a.txt');
  await writeFile(file, '\uFEFFMüller');
  assert.deepEqual([await readText(file), readTextSync(file)], ['Müller', 'Müller']);
  await writeFile(file, Buffer.from('# Müller\n-----BEGIN X-----', 'latin1'));
  await assert.rejects(readText(file), { name: 'NotText', source: file, offset: 3 });
  assert.throws(() => readTextSync(file), { name: 'NotText' });
  assert.match(await readPem(file), /^-----BEGIN X-----$/m);
  await writeFile(file, utf16('-----BEGIN X-----', 'LE'));
  assert.equal(await readPem(file), '-----BEGIN X-----');
  await assert.rejects(readText(folder.path), { code: 'EISDIR', path: folder.path });
});
