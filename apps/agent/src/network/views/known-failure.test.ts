// Why a known network cannot be used, for the page of the hotspot.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knownFailure } from './attempt-words.ts';
import type { NetworkAttempt } from '../rows/network-status.ts';

const tried = (network: string, result: NetworkAttempt['result']): NetworkAttempt => ({
  network,
  interface: 'wlan0',
  wall: 1,
  result,
  text: '',
});

/** Newest first; the network that a user has just tried; what the page names. */
const rows: readonly [NetworkAttempt[], string, string | undefined][] = [
  [[], '', undefined],
  [[tried('Home', 'ok')], '', undefined],
  [[tried('Home', 'wrong-password'), tried('Home', 'ok')], '', 'Home wrong-password'],
  [[tried('Home', 'ok'), tried('Home', 'wrong-password')], '', undefined],
  [[tried('Barn', 'not-found'), tried('Home', 'wrong-password')], '', 'Home wrong-password'],
  [[tried('Barn', 'not-found'), tried('Home', 'not-found')], '', 'Barn not-found'],
  [[tried('Home', 'not-found'), tried('Home', 'wrong-password')], '', 'Home not-found'],
  [[tried('Home', 'wrong-password')], 'Home', undefined],
  [[tried('Home', 'wrong-password'), tried('Barn', 'no-address')], 'Home', 'Barn no-address'],
];
for (const [attempts, shown, expected] of rows) {
  const texts = attempts.map(({ network, result }) => `${network} ${result}`);
  test(`known networks, tried ${texts.join(', ') || 'never'}; entered ${shown || 'none'}: ${expected ?? 'none'}`, () => {
    const found = knownFailure(attempts, shown);
    assert.equal(found && `${found.ssid} ${found.result}`, expected);
  });
}
