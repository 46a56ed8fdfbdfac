import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isHotspot, ssidOfHotspot, wifiQrText } from '@platform/contract/provisioning/hotspot';

for (const [ssid, password, text] of [
  ['platform-setup-barn', 'platformsetup', 'WIFI:T:WPA;S:platform-setup-barn;P:platformsetup;;'],
  ['a;b,c:d"e\\f', '\\\\;;', 'WIFI:T:WPA;S:a\\;b\\,c\\:d\\"e\\\\f;P:\\\\\\\\\\;\\;;;'],
  ['Scheune ä', 'p w d 1 2 3', 'WIFI:T:WPA;S:Scheune ä;P:p w d 1 2 3;;'],
] as const)
  test(`QR text of ${ssid}`, () => assert.equal(wifiQrText(ssid, password), text));

for (const [ssid, password, is] of [
  ['', 'platformsetup', false],
  ['x'.repeat(32), 'x'.repeat(63), true],
  ['x'.repeat(33), 'platformsetup', false],
  ['ä'.repeat(17), 'platformsetup', false],
  ['barn', '1234567', false],
  ['barn', '12345678', true],
  ['barn', 'pässword1', false],
] as const)
  test(`hotspot ${ssid} with ${password}`, () => assert.equal(isHotspot(ssid, password), is));

for (const [prefix, own, hostname, ssid] of [
  ['platform-setup', '', 'barn', 'platform-setup-barn'],
  ['platform-setup', 'Our setup', 'barn', 'Our setup'],
  ['platform-setup', '', 'a-hostname-that-is-long', 'platform-setup-a-hostname-that-i'],
  ['the-prefix-of-a-manufacturer-ä', '', 'barn', 'the-prefix-of-a-manufacturer-ä-'],
] as const)
  test(`SSID of ${own || prefix} on ${hostname}`, () =>
    assert.equal(ssidOfHotspot({ ssid: own, prefix, hostname }).ssid, ssid));
