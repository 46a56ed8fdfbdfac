import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { test } from 'node:test';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { Cell } from '@platform/kit';
import { FakeClock, issue } from '@platform/kit/testing';
import type { Condition } from '../../health/conditions.ts';
import { certificateProblem, expiredCertificate, keepCertificates, withUsableNetworks } from './certificates.ts';
import type { AdditionalNetwork, NetworkSettings } from './network-settings.ts';

const [start, end] = [Date.UTC(2030, 0, 1), Date.UTC(2031, 0, 1)];
const authority = issue({ name: 'authority', from: start, to: end + 365 * 86_400_000, authority: true });
const old = issue({ name: 'old authority', from: start, to: end, authority: true });
const ancient = issue({ name: 'ancient', from: start, to: start + 1_000, authority: true });
const client = issue({ name: 'barn', from: start, to: end, by: authority });
const other = issue({ name: 'other', from: start, to: end, by: authority });
const damaged = client.cert.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA');
const encrypted = createPrivateKey(client.key).export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase: 'opens',
}) as string;

const tls = {
  type: 'wifi',
  ssid: 'office',
  eap_method: 'tls',
  eap_identity: 'barn',
  eap_ca_certificate: authority.cert,
  eap_client_certificate: client.cert,
  eap_client_key: client.key,
};
const peap = { type: 'wifi', ssid: 'hall', eap_method: 'peap', eap_identity: 'barn', eap_password: 'secret' };

const settingsOf = (...networks: object[]): NetworkSettings => {
  const { config, corrections } = resolveAgentConfig({ cloud: { additional_networks: networks } });
  assert.deepEqual(corrections, []);
  return {
    revision: 1,
    configSha256: '',
    isPreliminary: false,
    isKnown: true,
    isDisabled: false,
    config: config.network_configuration,
    additional: config.additional_networks,
  };
};
const networkOf = (given: object): AdditionalNetwork => settingsOf(given).additional[0]!;

for (const [name, given, expected] of [
  ['a complete network', tls, undefined],
  ['a certificate with its chain', { ...tls, eap_client_certificate: client.cert + authority.cert }, undefined],
  ['text around the certificate', { ...tls, eap_ca_certificate: `subject=x\n${authority.cert}` }, undefined],
  ['an encrypted key', { ...tls, eap_client_key: encrypted, eap_client_key_password: 'opens' }, undefined],
  ['the authorities of the system', { ...peap, eap_server_name: 'r' }, undefined],
  ['no enterprise network', { type: 'wifi', ssid: 'home', psk: '12345678' }, undefined],
  [
    'a damaged authority',
    { ...peap, eap_ca_certificate: damaged },
    'eap_ca_certificate is damaged: it is not a certificate',
  ],
  [
    'a second authority that is damaged',
    { ...peap, eap_ca_certificate: authority.cert + damaged },
    'eap_ca_certificate is damaged: it is not a certificate',
  ],
  [
    'a damaged certificate of the machine',
    { ...tls, eap_client_certificate: damaged },
    'eap_client_certificate is damaged: it is not a certificate',
  ],
  [
    'a damaged key',
    { ...tls, eap_client_key: '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n' },
    'eap_client_key is damaged: it is not a private key',
  ],
  [
    'a password that does not open the key',
    { ...tls, eap_client_key: encrypted, eap_client_key_password: 'wrong' },
    'eap_client_key is damaged, or eap_client_key_password does not open it',
  ],
  [
    'an encrypted key without a password',
    { ...tls, eap_client_key: encrypted },
    'eap_client_key is damaged, or eap_client_key_password does not open it',
  ],
  [
    'the key of another certificate',
    { ...tls, eap_client_key: other.key },
    'eap_client_key does not belong to eap_client_certificate',
  ],
] as const)
  test(`certificates of a network: ${name}`, () => assert.equal(certificateProblem(networkOf(given)), expected));

for (const [name, given, wall, expected] of [
  ['before its end', tls, end - 1_000, undefined],
  ['after it', tls, end + 1_000, { field: 'eap_client_certificate', day: '2031-01-01' }],
  ['one that is not valid yet, by a clock that may be wrong', tls, start - 1_000, undefined],
  [
    'an authority',
    { ...peap, eap_ca_certificate: old.cert },
    end + 1_000,
    { field: 'eap_ca_certificate', day: '2031-01-01' },
  ],
  ['one of two authorities', { ...peap, eap_ca_certificate: old.cert + authority.cert }, end + 1_000, undefined],
  ['the authorities of the system', { ...peap, eap_server_name: 'r' }, end + 1_000, undefined],
  [
    'the end of another certificate in the chain',
    { ...tls, eap_client_certificate: client.cert + ancient.cert },
    end - 1_000,
    undefined,
  ],
] as const)
  test(`an expired certificate: ${name}`, () => assert.deepEqual(expiredCertificate(networkOf(given), wall), expected));

test('a network with an unusable certificate is left out with its reason, and comes back when it is corrected', () => {
  const conditions = new Cell<readonly Condition[]>([]);
  const home = { type: 'wifi', ssid: 'home', psk: '12345678' };
  const used = withUsableNetworks(settingsOf({ ...tls, eap_client_key: other.key }, home), conditions);
  assert.deepEqual(
    used.additional.map(({ ssid }) => ssid),
    ['home'],
  );
  const [condition] = conditions.get();
  assert.deepEqual(
    [condition?.code, condition?.subject, condition?.severity],
    ['NETWORK_CERTIFICATE_UNUSABLE', 'office', 'error'],
  );
  assert.match(condition?.message ?? '', /eap_client_key does not belong to eap_client_certificate/);
  assert.ok(!JSON.stringify(conditions.get()).includes('BEGIN'), 'no value of a field');
  assert.equal(withUsableNetworks(settingsOf(tls, home), conditions).additional.length, 2);
  assert.deepEqual(conditions.get(), []);
});

test('an expired certificate is named while its network stays, and until it is renewed', async () => {
  const clock = new FakeClock();
  const settings = new Cell(settingsOf(tls));
  const conditions = new Cell<readonly Condition[]>([]);
  const stop = new AbortController();
  const running = keepCertificates({ settings, conditions, clock }, stop.signal);
  const found = (): string[] => conditions.get().map(({ code, message }) => `${code} ${message}`);
  await clock.advance(1_000);
  assert.deepEqual(found(), []);
  clock.jumpWall(end + 1_000 - clock.wall());
  await clock.advance(6 * 60 * 60_000);
  assert.equal(found().length, 1);
  assert.match(
    found()[0] ?? '',
    /^NETWORK_CERTIFICATE_EXPIRED .*office.* eap_client_certificate expired on 2031-01-01/,
  );
  const renewed = issue({ name: 'barn', from: start, to: end + 2 * 365 * 86_400_000, by: authority });
  settings.set(settingsOf({ ...tls, eap_client_certificate: renewed.cert, eap_client_key: renewed.key }));
  await clock.advance(1_000);
  assert.deepEqual(found(), []);
  stop.abort();
  await running;
});
