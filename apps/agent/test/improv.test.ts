import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '@platform/kit/testing';
import {
  ImprovCommands,
  improvCapabilities,
  improvError,
  improvServiceData,
  improvState,
} from '../src/endpoints/improv.ts';
import type { ProvisioningView } from '../src/network/endpoints/provisioning-view.ts';
import { provisioningView as view } from './provisioning-device.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const withChecksum = (bytes: Uint8Array): Buffer =>
  Buffer.concat([bytes, Buffer.of(bytes.reduce((sum, byte) => sum + byte, 0) & 0xff)]);
/** The strings of a result, after its frame is checked. */
function strings(packet: Uint8Array | undefined, command: number): string[] {
  assert.ok(packet);
  assert.deepEqual(Buffer.from(packet), withChecksum(packet.subarray(0, -1)));
  assert.deepEqual([packet[0], packet[1]], [command, packet.length - 3]);
  const found: string[] = [];
  for (let at = 2; at < packet.length - 1; at += 1 + (packet[at] ?? 0))
    found.push(Buffer.from(packet.subarray(at + 1, at + 1 + (packet[at] ?? 0))).toString('utf8'));
  return found;
}

/** The example of the specification: MyWirelessAP, mysecurepassword. */
const sendWifi = withChecksum(
  Buffer.concat([hex('01 1e 0c'), Buffer.from('MyWirelessAP'), hex('10'), Buffer.from('mysecurepassword')]),
);

describe('Improv', () => {
  const states: [name: string, change: Partial<ProvisioningView>, state: number, error: number][] = [
    ['waiting, after a failed attempt', {}, 1, 3],
    ['waiting', { lastAttempt: null }, 1, 0],
    ['joining', { at: 'trying', lastAttempt: { ssid: 'barn', result: 'trying', text: '', wall: 1 } }, 3, 0],
    ['done', { at: 'done', lastAttempt: { ssid: 'barn', result: 'ok', text: '', wall: 1 } }, 4, 0],
    ['no internet', { lastAttempt: { ssid: 'barn', result: 'no-internet', text: 'x', wall: 1 } }, 1, 3],
  ];
  for (const [name, change, state, error] of states)
    test(`state: ${name}`, () => {
      const now = { ...view, ...change };
      assert.deepEqual([improvState(now), improvError(now)], [state, error]);
      assert.deepEqual([...improvServiceData(now)], [state, improvCapabilities, 0, 0, 0, 0]);
    });

  const packets: [name: string, bytes: Buffer, error: number][] = [
    ['the WiFi password is refused: not authorized', sendWifi, 4],
    ['an open network is refused, too', withChecksum(hex('01 06 04 62 61 72 6e 00')), 4],
    ['lengths that do not add up', withChecksum(hex('01 06 04 62 61 72 6e 01')), 1],
    ['WiFi without data', withChecksum(hex('01 00')), 1],
    ['an SSID without a password', withChecksum(hex('01 05 04 62 61 72 6e')), 1],
    ['identify, which is not offered', hex('02 00 02'), 2],
    ['device information', hex('03 00 03'), 0],
    ['device information with data', withChecksum(hex('03 01 00')), 1],
    ['scan', hex('04 00 04'), 0],
    ['the host name, which is not offered', hex('05 00 05'), 2],
    ['command 0', hex('00 00 00'), 2],
    ['command 255', hex('ff 00 ff'), 2],
    ['a wrong checksum', hex('03 00 04'), 1],
    ['bytes after the packet', hex('03 00 03 00'), 1],
    ['the longest packet', withChecksum(Buffer.concat([hex('09 ff'), Buffer.alloc(255, 7)])), 2],
  ];
  for (const [name, bytes, error] of packets) {
    test(`in one write: ${name}`, () => assert.equal(new ImprovCommands().write(bytes, view)?.error, error));
    test(`byte by byte: ${name}`, () => {
      const commands = new ImprovCommands();
      const answers = [...bytes].map((byte) => commands.write(Uint8Array.of(byte), view));
      const first = answers.findIndex((answer) => answer !== undefined);
      assert.equal(first, name === 'bytes after the packet' ? bytes.length - 2 : bytes.length - 1);
      if (name !== 'bytes after the packet') assert.equal(answers[first]?.error, error);
    });
  }

  test('the answers have the frame of the specification', () => {
    const commands = new ImprovCommands();
    assert.deepEqual(strings(commands.write(hex('03 00 03'), view)?.result, 3), [
      'platform-agent',
      '0.1.0',
      'Example Robotics Rover 2',
      'rover',
    ]);
    assert.deepEqual(strings(commands.write(hex('04 00 04'), view)?.result, 4), [
      'barn',
      '-60',
      'WPA2',
      'Café ☕',
      '-72',
      'NO',
      'office',
      '-95',
      'WPA2 EAP',
    ]);
    assert.deepEqual(commands.write(hex('04 00 04'), { ...view, networks: [] })?.result, hex('04 00 04'));
    const exact = { ...view, networks: [{ ssid: 'ab', security: 'sae' as const, signalPercent: 100 }] };
    assert.deepEqual(
      commands.write(hex('04 00 04'), exact)?.result,
      withChecksum(hex('04 0c 02 61 62 03 2d 35 30 04 57 50 41 33')),
    );
  });

  test('what does not fit into 255 bytes is left out, in whole networks and whole characters', () => {
    const networks = Array.from({ length: 40 }, (_, n) => ({
      ssid: `${n}`.padEnd(32, 'x'),
      security: 'wpa-psk' as const,
      signalPercent: 90 - n,
    }));
    const found = strings(new ImprovCommands().write(hex('04 00 04'), { ...view, networks })?.result, 4);
    assert.deepEqual([found.length % 3, found[0], found.length], [0, networks[0]?.ssid, 18]);
    const long = { ...view, manufacturer: '☕'.repeat(100), hostname: 'h'.repeat(300) };
    const info = strings(new ImprovCommands().write(hex('03 00 03'), long)?.result, 3);
    assert.equal(info.length, 4);
    assert.match(info[2] ?? '', /^☕+$/);
    assert.match(info[3] ?? '', /^h+$/);
  });

  test('a client that disconnects leaves nothing to the next', () => {
    const commands = new ImprovCommands();
    assert.equal(commands.write(sendWifi.subarray(0, 20), view), undefined);
    commands.reset();
    assert.equal(commands.write(hex('03 00 03'), view)?.error, 0);
  });

  test('100,000 random writes: known errors, results in their frame, and the next command works', () => {
    const random = seededRandom(4677);
    const below = (n: number): number => Math.floor(random() * n);
    const errors = new Set<number>();
    const commands = new ImprovCommands();
    for (let n = 0; n < 100_000; n++) {
      const bytes = Buffer.from(Array.from({ length: below(24) }, () => (below(3) === 0 ? below(256) : below(6))));
      if (below(2) === 0) commands.reset();
      const packet = below(10) === 0 ? sendWifi : below(2) === 0 ? withChecksum(bytes) : bytes;
      const answer = commands.write(packet, view);
      if (answer) errors.add(answer.error);
      if (answer?.result) strings(answer.result, answer.result[0] ?? 0);
    }
    assert.deepEqual([...errors].toSorted(), [0, 1, 2, 4]);
    commands.reset();
    assert.equal(commands.write(hex('04 00 04'), view)?.error, 0);
  });
});
