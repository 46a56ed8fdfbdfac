import assert from 'node:assert/strict';
import test from 'node:test';
import { addressGroup, clientAddress, trustedProxies } from './addresses.ts';

const groups: [address: string, group: string][] = [
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
];
for (const [address, group] of groups)
  test(`${address} counts as ${group}`, () => assert.equal(addressGroup(address), group));

const isTrusted = trustedProxies('10.0.0.1, 10.1.0.0/16,2001:db8::/32');
const forwarded: [name: string, peer: string, header: string | undefined, client: string][] = [
  ['no proxy: its header is ignored', '192.0.2.7', '203.0.113.1', '192.0.2.7'],
  ['a proxy', '10.0.0.1', '203.0.113.1', '203.0.113.1'],
  ['a proxy as IPv6 has it', '::ffff:10.0.0.1', '203.0.113.1', '203.0.113.1'],
  [
    'two proxies; what the client made up comes before',
    '10.0.0.1',
    '198.51.100.1, 203.0.113.1, 10.1.2.3',
    '203.0.113.1',
  ],
  ['a proxy that says nothing', '10.0.0.1', undefined, '10.0.0.1'],
  ['no address', '10.0.0.1', '203.0.113.1, unknown', '10.0.0.1'],
  ['an IPv6 client', '2001:db8::1', '2a00::1', '2a00::1'],
];
for (const [name, peer, header, client] of forwarded)
  test(`the address of a client: ${name}`, () => assert.equal(clientAddress(peer, header, isTrusted), client));

for (const list of ['10.0.0.256', '10.0.0.0/33', 'proxy.example', '10.0.0.0/x', '::/129'])
  test(`not a list of proxies: ${list}`, () => assert.throws(() => trustedProxies(list), { code: 'INVALID_ARGUMENT' }));
test('no list: no address is trusted', () => assert.equal(trustedProxies(undefined)('10.0.0.1'), false));
