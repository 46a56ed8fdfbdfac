import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeSubnet, routesOf } from './free-subnet.ts';

for (const [name, taken, expected] of [
  ['nothing else', [], '10.42.0.1'],
  ['a home network', ['192.168.1.20/24'], '10.42.0.1'],
  ['the same subnet', ['10.42.0.77/24'], '10.42.1.1'],
  ['a larger network around it', ['10.42.0.0/15'], '192.168.200.1'],
  ['a VPN with all of 10.0.0.0/8', ['10.0.0.0/8'], '192.168.200.1'],
  ['two private ranges', ['10.8.0.1/8', '192.168.0.0/16'], '172.30.0.1'],
  ['one host', ['10.42.0.200/32', '10.42.1.1'], '10.42.2.1'],
  ['a neighbour', ['10.41.255.255/32', '10.42.1.0/24'], '10.42.0.1'],
  ['default routes and IPv6', ['0.0.0.0/0', 'fe80::1/64', '::/0'], '10.42.0.1'],
  ['everything', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'], '10.42.0.1'],
] as const) {
  test(`the subnet of the hotspot beside ${name}: ${expected}`, () => {
    assert.deepEqual(freeSubnet(taken), { address: expected, prefix: 24 });
  });
}

const table = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0132A8C0	0003	0	0	100	00000000	0	0	0
eth0	0032A8C0	00000000	0001	0	0	100	00FFFFFF	0	0	0
wlan0	00002A0A	00000000	0001	0	0	600	00FFFFFF	0	0	0
tun0	0000A0C0	00000000	0001	0	0	0	0000F0FF	0	0	0
`;

test('the routes of other interfaces count for the choice of the hotspot, those of its radio do not', () => {
  assert.deepEqual(routesOf(table, 'wlan0'), ['192.168.50.0/24', '192.160.0.0/12']);
  assert.deepEqual(freeSubnet(routesOf(table, 'wlan0')), { address: '10.42.0.1', prefix: 24 });
  assert.deepEqual(freeSubnet(routesOf(table, 'eth0')), { address: '10.42.1.1', prefix: 24 });
});
