import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretsIn } from '@platform/contract/config/secrets';

test('secrets of a configuration: by the schema, and of the environment by their names', () => {
  const cloud = {
    network_configuration: { hotspot_password: 'open sesame', hotspot_prefix: 'not secret' },
    advanced_settings: {
      viam_server_env: { API_TOKEN: 'tok-12345', MODE: 'verbose', DB_PASSWORD: 'hunter22', EMPTY_KEY: '', A_KEY: 7 },
    },
    additional_networks: { garage: { ssid: 'Garage', psk: 'p-a-s-s-w-o-r-d' } },
  };
  const listed = { additional_networks: [{ psk: 'another one' }, { psk: 'abc' }, 'nonsense', null] };
  assert.deepEqual(secretsIn(cloud, listed, undefined, 'nonsense'), [
    'p-a-s-s-w-o-r-d',
    'open sesame',
    'another one',
    'tok-12345',
    'hunter22',
  ]);
  assert.deepEqual(secretsIn(), []);
});

test('a private key in PEM form is a secret as a whole and line by line; its certificate is none', () => {
  const body = ['MIIEvQIBADANBgkqhkiG9w0BAQEF', 'AASCBKcwggSjAgEAAoIBAQC7', 'QQ=='];
  const key = ['-----BEGIN PRIVATE KEY-----', ...body, '-----END PRIVATE KEY-----', ''].join('\n');
  const office = { eap_client_key: key, eap_client_certificate: 'public text', eap_password: 'pass word' };
  const found = secretsIn({ additional_networks: { office } });
  assert.deepEqual(found, [key, body[0], body[1], 'pass word']);
});
