import assert from 'node:assert/strict';
import test from 'node:test';
import { create, type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { StructSchema } from '@bufbuild/protobuf/wkt';
import { DeleteBinaryDataByIDsRequestSchema } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { LogRequestSchema } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { EnvelopeSplitter } from './message-reader.ts';
import { countJsonValues, valueCounter } from './message-values.ts';

const countValues = valueCounter();
const many = (piece: readonly number[], count: number): Uint8Array =>
  Uint8Array.from(Array.from({ length: count }, () => piece).flat());

const entry = [0x0a, 9, 0x0a, 1, 0x61, 0x12, 4, 0x1a, 2, 0x61, 0x61];
const binary: [name: string, desc: DescMessage, bytes: Uint8Array, values: number][] = [
  ['empty messages', LogRequestSchema, many([0x12, 0], 100), 100],
  ['messages with a field each', LogRequestSchema, many([0x12, 2, 0x0a, 0], 100), 200],
  ['empty texts', DeleteBinaryDataByIDsRequestSchema, many([0x0a, 0], 100), 100],
  ['unknown fields', LogRequestSchema, many([0x78, 0], 100), 100],
  ['texts of an unknown field', LogRequestSchema, many([0x7a, 1, 0x61], 100), 100],
  ['entries of a map: entry, key, value and its text', StructSchema, many(entry, 100), 400],
  ['a long text', LogRequestSchema, toBinary(LogRequestSchema, create(LogRequestSchema, { id: 'x'.repeat(1_000) })), 1],
];
for (const [name, desc, bytes, values] of binary)
  test(`values of ${name}`, () => {
    fromBinary(desc, bytes);
    assert.equal(countValues(desc, bytes, 1_000_000), values);
    assert.equal(countValues(desc, bytes, values - 1) >= values, true, 'counting may end early');
  });

const json: [text: string, values: number][] = [
  [`[${Array.from({ length: 50 }, () => '{}').join()}]`, 101],
  [`{"a":"${',:[{'.repeat(100)}"}`, 3],
  [`{"a\\"b":"\\\\","c":[[[1]]]}${' '.repeat(100)}`, 8],
];
for (const [text, values] of json)
  test(`JSON values of ${text.slice(0, 30)}`, () => {
    const bytes = Buffer.from(text);
    assert.deepEqual([countJsonValues(bytes, 1_000_000), countJsonValues(bytes, values - 1)], [values, values]);
  });

test('messages of a stream are the same at any split', () => {
  const stream = Buffer.from([0, 0, 0, 0, 3, 1, 2, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 9]);
  const expected = [[0, 1, 2, 3], [1], [0, 9]];
  for (let size = 1; size <= stream.length; size++) {
    const splitter = new EnvelopeSplitter(3, () => assert.fail());
    const found: number[][] = [];
    for (let at = 0; at < stream.length; at += size) {
      const pieces = splitter.push(stream.subarray(at, at + size));
      found.push(...pieces.map(({ flags, data }) => [flags, ...data]));
      assert.equal(splitter.isInside, ![0, 8, 13, 19].includes(Math.min(at + size, stream.length)));
    }
    assert.deepEqual(found, expected, `${size}`);
  }
  const limited = new EnvelopeSplitter(2, () => {
    throw new Error('too large');
  });
  assert.throws(() => limited.push(stream), /too large/);
});
