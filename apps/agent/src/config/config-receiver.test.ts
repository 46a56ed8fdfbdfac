import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { DeviceAgentConfigResponseSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { Cell } from '@platform/kit';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { simDisk } from '../os/sim/disk.ts';
import { SimFiles } from '../os/sim/files.ts';
import type { Wanted } from '../state/state.ts';
import type { Condition } from '../health/conditions.ts';
import { ConfigReceiver } from './config-receiver.ts';

const answer = (revision: number, psk = '', fingerprint = `f${revision}`) =>
  create(DeviceAgentConfigResponseSchema, {
    fingerprint,
    revision: BigInt(revision),
    agent: { additional_networks: psk === '' ? {} : { home: { type: 'wifi', ssid: 'home', psk } } },
  });

function world() {
  const wanted = new Cell({ revision: 0 } as Wanted);
  const hidden: (readonly string[])[] = [];
  /** How many times `hide` had been called when a line was written. */
  const loggedAt: number[] = [];
  const { log } = captureLog(new FakeClock());
  const info = log.info.bind(log);
  log.info = (message, fields) => (loggedAt.push(hidden.length), info(message, fields));
  const configReceiver = new ConfigReceiver({
    disk: simDisk(new SimFiles(), {}),
    wanted,
    layers: { commandLine: {}, manufacturer: {}, isFastStart: false },
    conditions: new Cell<readonly Condition[]>([]),
    hide: (secrets) => hidden.push(secrets),
    log,
  });
  return { configReceiver, wanted, hidden, loggedAt };
}

test('an answer to an earlier request does not undo a later one', async () => {
  const { configReceiver, wanted } = world();
  assert.equal(await configReceiver.accept(answer(1), ''), true);
  const asked = configReceiver.fingerprint;
  // A check and a report sent the same fingerprint: the newer answer arrives before the older one.
  assert.equal(await configReceiver.accept(answer(3), asked), true);
  assert.equal(await configReceiver.accept(answer(2), asked), false);
  assert.deepEqual([wanted.get().revision, configReceiver.fingerprint], [3, 'f3']);
  assert.equal(await configReceiver.accept(answer(4), configReceiver.fingerprint), true);
  assert.equal(wanted.get().revision, 4);
});

test('a server without fingerprints is always believed', async () => {
  const { configReceiver, wanted } = world();
  for (const revision of [1, 2, 1]) {
    assert.equal(await configReceiver.accept(answer(revision, '', ''), ''), true);
    assert.equal(wanted.get().revision, revision);
  }
});

test('secrets of a configuration are masked before a line can show them', async () => {
  const { configReceiver, hidden, loggedAt } = world();
  await configReceiver.accept(answer(1, 'a psk of the wifi'), '');
  assert.deepEqual(hidden, [['a psk of the wifi']]);
  assert.deepEqual(loggedAt, [1]);
});
