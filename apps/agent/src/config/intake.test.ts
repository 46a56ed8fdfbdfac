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
import { Intake } from './intake.ts';

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
  const toldAt: number[] = [];
  const { log } = captureLog(new FakeClock());
  const info = log.info.bind(log);
  log.info = (message, fields) => (toldAt.push(hidden.length), info(message, fields));
  const intake = new Intake({
    disk: simDisk(new SimFiles(), {}),
    wanted,
    layers: { commandLine: {}, manufacturer: {}, isFastStart: false },
    troubles: new Cell<readonly Condition[]>([]),
    hide: (secrets) => hidden.push(secrets),
    log,
  });
  return { intake, wanted, hidden, toldAt };
}

test('an answer that was asked for before another one came in does not undo it', async () => {
  const { intake, wanted } = world();
  assert.equal(await intake.accept(answer(1), ''), true);
  const asked = intake.fingerprint;
  // A check and a report sent the same fingerprint: the newer answer arrives before the older one.
  assert.equal(await intake.accept(answer(3), asked), true);
  assert.equal(await intake.accept(answer(2), asked), false);
  assert.deepEqual([wanted.get().revision, intake.fingerprint], [3, 'f3']);
  assert.equal(await intake.accept(answer(4), intake.fingerprint), true);
  assert.equal(wanted.get().revision, 4);
});

test('a server without fingerprints is always believed', async () => {
  const { intake, wanted } = world();
  for (const revision of [1, 2, 1]) {
    assert.equal(await intake.accept(answer(revision, '', ''), ''), true);
    assert.equal(wanted.get().revision, revision);
  }
});

test('secrets of a configuration are told of before a line could show them', async () => {
  const { intake, hidden, toldAt } = world();
  await intake.accept(answer(1, 'a psk of the wifi'), '');
  assert.deepEqual(hidden, [['a psk of the wifi']]);
  assert.deepEqual(toldAt, [1]);
});
