import assert from 'node:assert/strict';
import { constants, createPublicKey, generateKeyPairSync, publicEncrypt, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  bluetoothUuids,
  type BluetoothReadable,
  type BluetoothWritable as Writable,
  readBluetoothErrors,
} from '@platform/contract/provisioning/bluetooth';
import { FakeClock, seededRandom } from '@platform/kit/testing';
import { GattProvisioning, GattRefusal } from '../src/endpoints/gatt-provisioning.ts';
import type { ProvisioningView, Submission } from '../src/network/endpoints/provisioning-view.ts';
import { provisioningView } from './provisioning-device.ts';

const hotspotPassword = 'hot:spot';
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** A device, its client, and a listener that records every byte on the air. */
function device(
  change: Partial<ProvisioningView> | (() => ProvisioningView) = {},
  problem: () => Promise<string> = () => Promise.resolve(''),
) {
  const clock = new FakeClock();
  const submitted: Submission[] = [];
  const view = typeof change === 'function' ? change : () => ({ ...provisioningView, ...change });
  let [active, changes] = [0, 0];
  const gatt = new GattProvisioning({
    view,
    active: () => void active++,
    handOver: (submission) => {
      submitted.push(submission);
      return problem();
    },
    changed: () => void changes++,
    privateKey,
    hotspotPassword,
    clock,
  });
  const air: Buffer[] = [];
  const read = (name: BluetoothReadable): Buffer => {
    const bytes = Buffer.from(gatt.read(name));
    air.push(bytes);
    return bytes;
  };
  const encrypt = (value: string | Uint8Array, password = hotspotPassword): Buffer => {
    const key = createPublicKey({ key: read('pub_key'), format: 'der', type: 'spki' });
    const padded = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' };
    return publicEncrypt(padded, Buffer.concat([Buffer.from(`${password}:`), Buffer.from(value)]));
  };
  const write = (name: Writable, bytes: Uint8Array): void => {
    air.push(Buffer.from(bytes));
    gatt.write(name, bytes);
  };
  const send = (name: Writable, value: string, password?: string): void => write(name, encrypt(value, password));
  return { clock, submitted, gatt, air, read, encrypt, write, send, activity: () => active, changes: () => changes };
}

const refused = (code: GattRefusal['code']) => (error: unknown) => error instanceof GattRefusal && error.code === code;

describe('the published GATT service', () => {
  const secured = 0x80;
  test('its values are the bytes that clients expect', () => {
    const { read } = device();
    assert.deepEqual(
      read('networks'),
      Buffer.concat([
        Buffer.of(secured + 80),
        Buffer.from('barn\0'),
        Buffer.of(55),
        Buffer.from('Café ☕\0'),
        Buffer.of(secured + 10),
        Buffer.from('office\0'),
      ]),
    );
    assert.deepEqual(read('errors'), Buffer.from('The password of barn is wrong.\0'));
    assert.deepEqual(read('manufacturer'), Buffer.from('Example Robotics'));
    assert.deepEqual(read('model'), Buffer.from('Rover 2'));
    assert.deepEqual(read('fragment_id'), Buffer.from(provisioningView.fragmentId));
    assert.deepEqual(read('agent_version'), Buffer.from('0.1.0'));
    assert.equal(createPublicKey({ key: read('pub_key'), format: 'der', type: 'spki' }).asymmetricKeyType, 'rsa');
    const statuses = [false, true].flatMap((isOnline) =>
      [false, true].map((hasCredentials) => device({ isOnline, hasCredentials }).read('status')[0]),
    );
    assert.deepEqual(statuses, [0, 1, 2, 3]);
  });

  test('networks and errors end with a whole item within 512 bytes', () => {
    const networks = Array.from({ length: 99 }, () => ({
      ssid: 'x'.repeat(32),
      security: 'open' as const,
      signalPercent: 1,
    }));
    assert.equal(device({ networks }).read('networks').length, 15 * 34);
    const lastAttempt = { ssid: 'barn', result: 'failed' as const, text: 'x'.repeat(600), wall: 1 };
    assert.equal(device({ lastAttempt }).read('errors').length, 0);
  });

  test('hands over network and credentials; a listener learns none of the secrets and cannot repeat a write', async () => {
    const { send, write, read, submitted, air, clock } = device();
    const apiKey = '{"id":"key-id-1","key":"api-key-hush"}';
    for (const name of ['status', 'networks', 'model'] as const) read(name);
    const secrets = ['correct horse', 'part-hush', 'api-key-hush', hotspotPassword];
    send('ssid', 'my hidden network');
    send('psk', 'correct horse');
    send('id', 'part');
    send('secret', 'part-hush');
    send('api_key', apiKey);
    send('app_address', 'https://cloud.example:443');
    send('exit_provisioning', '1');
    await clock.settle();
    assert.deepEqual(submitted, [
      {
        wifi: { ssid: 'my hidden network', psk: 'correct horse', isHidden: true },
        credentials: `{"cloud":{"app_address":"https://cloud.example:443","id":"part","api_key":${apiKey},"secret":"part-hush"}}`,
      },
    ]);
    const dump = Buffer.concat(air);
    for (const secret of [...secrets, 'my hidden network', 'cloud.example'])
      assert.equal(dump.includes(secret), false, `${secret} is on the air`);
    for (const bytes of air.filter(({ length }) => length === 256))
      assert.throws(() => write('psk', bytes), refused('NotAuthorized'));
    send('exit_provisioning', '1');
    await clock.settle();
    assert.equal(submitted.length, 1);
  });

  test('equal values differ on the air', () => {
    const { encrypt } = device();
    assert.notDeepEqual(encrypt('correct horse'), encrypt('correct horse'));
  });

  const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const toOtherKey = publicEncrypt(
    { key: other.publicKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' },
    Buffer.from(`${hotspotPassword}:barn`),
  );
  const bad: [name: string, code: GattRefusal['code'], bytes: (of: ReturnType<typeof device>) => Uint8Array][] = [
    ['plain text', 'InvalidValueLength', () => Buffer.from('hot:spot:barn')],
    ['nothing', 'InvalidValueLength', () => Buffer.alloc(0)],
    ['257 bytes', 'InvalidValueLength', () => Buffer.alloc(257)],
    ['random bytes', 'NotAuthorized', () => randomBytes(256)],
    ['another key', 'NotAuthorized', () => toOtherKey],
    ['another password', 'NotAuthorized', ({ encrypt }) => encrypt('barn', 'wrong')],
    ['no password', 'NotAuthorized', ({ encrypt }) => encrypt('barn', '')],
    ['a longer password', 'NotAuthorized', ({ encrypt }) => encrypt('barn', `${hotspotPassword}x`)],
    ['a start of the password', 'NotAuthorized', ({ encrypt }) => encrypt('barn', 'hot')],
    ['bytes that are not UTF-8', 'NotAuthorized', ({ encrypt }) => encrypt(Uint8Array.of(0xff, 0xfe))],
  ];
  for (const [name, code, bytes] of bad)
    for (const target of ['ssid', 'exit_provisioning'] as const)
      test(`refused, nothing staged, nothing handed over: ${name} to ${target}`, async () => {
        const one = device();
        if (target === 'exit_provisioning') one.send('ssid', 'barn');
        const before = one.activity();
        assert.throws(() => one.write(target, bytes(one)), refused(code));
        assert.equal(one.activity(), before, 'it is not the activity of a user');
        if (target === 'ssid') one.send('exit_provisioning', '1');
        await one.clock.settle();
        assert.deepEqual(one.submitted, []);
      });

  for (const [name, value] of [
    ['no JSON', 'key'],
    ['a half', '{"id":"key"}'],
    ['an empty half', '{"id":"key","key":""}'],
    ['null', 'null'],
    ['numbers', '{"id":1,"key":2}'],
  ] as const)
    test(`an API key that is ${name} is refused`, () =>
      assert.throws(() => device().send('api_key', value), refused('Failed')));

  test('after ten failed writes all are refused for a minute', async () => {
    const { send, clock } = device();
    for (let n = 0; n < 10; n++) assert.throws(() => send('psk', 'x', 'guess'), refused('NotAuthorized'));
    assert.throws(() => send('psk', 'x'), refused('NotAuthorized'));
    await clock.advance(59_999);
    assert.throws(() => send('psk', 'x'), refused('NotAuthorized'));
    await clock.advance(1);
    send('psk', 'x');
  });

  test('a refusal of the agent is in the errors until a hand-over works; nothing stays staged', async () => {
    const answers = ['The SSID is empty.', ''];
    const { send, read, submitted, clock } = device({ lastAttempt: null }, () =>
      Promise.resolve(answers.shift() ?? ''),
    );
    send('ssid', 'barn');
    send('exit_provisioning', '');
    await clock.settle();
    assert.equal(read('errors').toString(), 'The SSID is empty.\0');
    send('exit_provisioning', '');
    await clock.settle();
    assert.equal(submitted.length, 1);
    send('ssid', 'barn');
    send('exit_provisioning', '');
    await clock.settle();
    assert.equal(read('errors').toString(), '');
    assert.deepEqual(submitted[1], { wifi: { ssid: 'barn', psk: '', isHidden: false } });
  });

  test('an error of before is gone once something new is entered, and comes back if it happens again', async () => {
    const lastAttempt = { ssid: 'barn', result: 'wrong-password' as const, text: 'Wrong password.', wall: 50_000 };
    let view = { ...provisioningView, lastAttempt };
    const { send, read, changes, clock } = device(() => view);
    const errors = (): string[] => readBluetoothErrors(read('errors'));
    assert.deepEqual(errors(), ['Wrong password.']);
    send('ssid', 'barn');
    assert.equal(changes(), 0);
    send('exit_provisioning', '');
    assert.deepEqual([errors(), changes()], [[], 1]);
    await clock.settle();
    view = { ...view, lastAttempt: { ...lastAttempt, wall: 50_001 } };
    assert.deepEqual(errors(), [], 'the same attempt');
    view = { ...view, lastAttempt: { ...lastAttempt, wall: 51_000 } };
    assert.deepEqual(errors(), ['Wrong password.']);
  });

  test('a set-up code takes the place of credentials, unless an id is given', async () => {
    const { send, submitted, clock } = device();
    send('set_up_code', 'ABCD-EFGH@fleet.example');
    send('exit_provisioning', '');
    await clock.settle();
    send('set_up_code', 'ABCD-EFGH@fleet.example');
    send('id', 'part');
    send('exit_provisioning', '');
    await clock.settle();
    assert.deepEqual(submitted, [
      { credentials: 'ABCD-EFGH@fleet.example' },
      { credentials: '{"cloud":{"app_address":"","id":"part"}}' },
    ]);
  });

  test('an agent that fails is an error for the client', async () => {
    const { send, read, clock } = device({ lastAttempt: null }, () => Promise.reject(new Error('gone')));
    send('ssid', 'barn');
    send('exit_provisioning', '');
    await clock.settle();
    assert.match(read('errors').toString(), /could not store/);
  });

  test('20,000 random writes stage nothing', async () => {
    const random = seededRandom(7);
    const { gatt, clock, send, submitted } = device();
    const names = Object.keys(bluetoothUuids.writable) as Writable[];
    for (let n = 0; n < 20_000; n++) {
      const bytes = Buffer.alloc(random() < 0.5 ? 256 : Math.floor(random() * 600), Math.floor(random() * 256));
      const name = names[Math.floor(random() * names.length)] ?? 'ssid';
      assert.throws(() => gatt.write(name, bytes), GattRefusal);
    }
    await clock.advance(60_000);
    send('exit_provisioning', '');
    await clock.settle();
    assert.deepEqual(submitted, []);
  });
});
