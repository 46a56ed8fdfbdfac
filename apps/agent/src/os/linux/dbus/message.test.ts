import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeMessage, type Message, MessageReader, messageType } from './message.ts';
import { type DBusValue, Variant } from './values.ts';

/** Written by the library dbus-native 0.16.1. */
const hello =
  '6c01000100000000010000006d00000001016f00150000002f6f72672f667265656465736b746f702f4442757300000002017300140000006f7267' +
  '2e667265656465736b746f702e4442757300000000030173000500000048656c6c6f00000006017300140000006f72672e66726565646573' +
  '6b746f702e4442757300000000';
const noAutoStart = 2;

test('a call has the bytes that another implementation writes', () => {
  const bytes = encodeMessage({
    type: messageType.call,
    serial: 1,
    path: '/org/freedesktop/DBus',
    interface: 'org.freedesktop.DBus',
    member: 'Hello',
    destination: 'org.freedesktop.DBus',
    signature: '',
    body: [],
  });
  assert.equal(bytes[2], noAutoStart);
  bytes[2] = 0;
  assert.equal(bytes.toString('hex'), hello);
});

const signal = (signature: string, body: readonly DBusValue[]): Message => ({
  type: messageType.signal,
  serial: 7,
  path: '/a/b',
  interface: 'a.b',
  member: 'C',
  signature,
  body,
});

const values: readonly [signature: string, body: readonly DBusValue[]][] = [
  ['ybnqiuxtd', [255, true, -32_768, 65_535, -(2 ** 31), 2 ** 32 - 1, -(2n ** 63n), 2n ** 64n - 1n, 0.5]],
  ['sog', ['Grüße', '/org/x', 'a{sv}']],
  ['ay', [new Uint8Array([0, 255, 1])]],
  ['as', [['a', '', 'ccc']]],
  [
    'a(us)yax',
    [
      [
        [1, 'x'],
        [2, 'yy'],
      ],
      3,
      [],
    ],
  ],
  ['v', [new Variant('aa{sv}', [new Map([['a', new Variant('t', 1n)]])])]],
  [
    'a{sa{sv}}',
    [
      new Map([
        ['connection', new Map([['id', new Variant('s', 'x')]])],
        ['user', new Map()],
      ]),
    ],
  ],
  ['a{us}', [new Map([[5, 'five']])]],
  ['aay', [[new Uint8Array([1]), new Uint8Array([])]]],
];
for (const [signature, body] of values) {
  test(`values of ${signature} are read as they were written, however the stream cuts them`, () => {
    const bytes = Buffer.concat([encodeMessage(signal(signature, body)), encodeMessage(signal('', []))]);
    for (const step of [1, 7, bytes.length]) {
      const reader = new MessageReader();
      const read: Message[] = [];
      for (let at = 0; at < bytes.length; at += step) read.push(...reader.push(bytes.subarray(at, at + step)));
      assert.deepEqual(
        read.map((message) => message.body),
        [body, []],
      );
      assert.equal(read[0]?.member, 'C');
    }
  });
}

test('a big-endian message is read', () => {
  // A reply to serial 3 with the value 258.
  const hex = '42020001000000040000000a0000000f0501750000000003080167000175000000000102';
  const [message] = new MessageReader().push(Buffer.from(hex, 'hex'));
  assert.deepEqual([message?.replySerial, message?.body], [3, [258]]);
});

test('bytes that are not D-Bus end with an error, never with a wrong value or a hang', () => {
  const good = encodeMessage(
    signal('a{sv}sau', [new Map([['k', new Variant('ay', new Uint8Array(9))]]), 'text', [1, 2]]),
  );
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let n = 0; n < 20_000; n++) {
    const bytes = Buffer.from(good);
    for (let m = 0; m <= random(4); m++) bytes[random(bytes.length)] = random(256);
    try {
      new MessageReader().push(bytes);
    } catch (error) {
      assert.ok(error instanceof RangeError, String(error));
    }
  }
});

test('a value that does not fit its type is refused', () => {
  for (const [signature, value] of [
    ['s', 1],
    ['u', '1'],
    ['v', 'x'],
    ['a{sv}', [1]],
    ['as', 'x'],
    ['s', 'a\0b'],
    ['z', 1],
  ] as const)
    assert.throws(() => encodeMessage(signal(signature, [value])));
});
