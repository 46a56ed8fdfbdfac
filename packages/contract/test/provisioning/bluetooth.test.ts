import assert from 'node:assert/strict';
import { constants, createHash, generateKeyPairSync, privateDecrypt } from 'node:crypto';
import { test } from 'node:test';
import {
  bluetoothUuids,
  bluetoothWrites,
  encryptBluetoothValue,
  improvUuids,
  longestBluetoothText,
  readBluetoothErrors,
  readBluetoothKey,
  readBluetoothNetworks,
  readBluetoothStatus,
} from '@platform/contract/provisioning/bluetooth';

/** RFC 9562, version 5, in the namespace of the published service. */
function publishedUuid(name: string): string {
  const hash = createHash('sha1').update(Buffer.from('74a942f40f4543f488caf87021ae36ea', 'hex')).update(name).digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

test('the identifiers are those of the published service', () => {
  assert.equal(bluetoothUuids.service, publishedUuid('viam-provisioning'));
  for (const [name, uuid] of Object.entries({ ...bluetoothUuids.writable, ...bluetoothUuids.readable }))
    assert.equal(uuid, publishedUuid(name), name);
  const { data, ...improv } = improvUuids;
  assert.deepEqual(
    Object.values(improv),
    [0, 1, 2, 3, 4, 5].map((last) => `00467768-6228-2272-4663-27747826800${last}`),
  );
  assert.equal(data, '00004677-0000-1000-8000-00805f9b34fb');
});

test('a value is encrypted together with the password of the hotspot; a longer one is refused', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = await readBluetoothKey(publicKey.export({ type: 'spki', format: 'der' }));
  const decrypted = (bytes: Uint8Array): string => {
    const of = { key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' };
    return privateDecrypt(of, bytes).toString('utf8');
  };
  const hotspotPassword = 'hot:spot';
  const bytes = await encryptBluetoothValue(key, { hotspotPassword, value: 'Café ☕' });
  assert.deepEqual([bytes.length, decrypted(bytes)], [256, 'hot:spot:Café ☕']);
  const value = 'x'.repeat(longestBluetoothText - hotspotPassword.length - 1);
  assert.equal(decrypted(await encryptBluetoothValue(key, { hotspotPassword, value })), `hot:spot:${value}`);
  await assert.rejects(encryptBluetoothValue(key, { hotspotPassword, value: `${value}x` }), RangeError);
  await assert.rejects(readBluetoothKey(Uint8Array.of(1, 2, 3)));
});

test('an entry becomes writes that end with the hand-over', () => {
  const wifi = { ssid: 'barn', psk: 'correct horse' };
  const of = { id: 'part', appAddress: 'https://fleet.example', secret: 'hush', apiKey: { id: 'k', key: 'v' } };
  assert.deepEqual(bluetoothWrites({ wifi, credentials: of }), [
    ['ssid', 'barn'],
    ['psk', 'correct horse'],
    ['id', 'part'],
    ['app_address', 'https://fleet.example'],
    ['secret', 'hush'],
    ['api_key', '{"id":"k","key":"v"}'],
    ['exit_provisioning', ''],
  ]);
  assert.deepEqual(bluetoothWrites({ credentials: { setUpCode: 'ABCD-EFGH@fleet.example' } }), [
    ['set_up_code', 'ABCD-EFGH@fleet.example'],
    ['exit_provisioning', ''],
  ]);
});

test('what a device shows is read; what is cut off or empty is left out', () => {
  const bytes = (...parts: (string | number)[]): Uint8Array =>
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))));
  assert.deepEqual(readBluetoothNetworks(bytes(0x80 | 80, 'barn', 0, 55, 'Café ☕', 0, 1, 0, 10, 'cut')), [
    { ssid: 'barn', isSecured: true, signalPercent: 80 },
    { ssid: 'Café ☕', isSecured: false, signalPercent: 55 },
  ]);
  assert.deepEqual(readBluetoothErrors(bytes('Wrong password.', 0, 'No address.', 0, 'cut')), [
    'Wrong password.',
    'No address.',
  ]);
  assert.deepEqual(readBluetoothErrors(bytes()), []);
  assert.deepEqual(
    [0, 1, 2, 3].map((bits) => readBluetoothStatus(Uint8Array.of(bits))),
    [
      { hasCredentials: false, isOnline: false },
      { hasCredentials: true, isOnline: false },
      { hasCredentials: false, isOnline: true },
      { hasCredentials: true, isOnline: true },
    ],
  );
  assert.deepEqual(readBluetoothStatus(new Uint8Array(0)), { hasCredentials: false, isOnline: false });
});
