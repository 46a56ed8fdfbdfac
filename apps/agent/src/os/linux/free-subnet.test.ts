import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeSubnet, routesOf } from './free-subnet.ts';

const table = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0132A8C0	0003	0	0	100	00000000	0	0	0
eth0	0032A8C0	00000000	0001	0	0	100	00FFFFFF	0	0	0
wlan0	00002A0A	00000000	0001	0	0	600	00FFFFFF	0	0	0
`;

test('the routes of other interfaces count for the choice of the hotspot, those of its radio do not', () => {
  assert.deepEqual(routesOf(table, 'wlan0'), ['192.168.50.0/24']);
  assert.deepEqual(freeSubnet(routesOf(table, 'wlan0')), { address: '10.42.0.1', prefix: 24 });
  assert.deepEqual(freeSubnet(routesOf(table, 'eth0')), { address: '10.42.1.1', prefix: 24 });
});
