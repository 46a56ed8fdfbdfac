// Provisioning over Bluetooth as the agent runs it: the compiled program reads what clients write, without root. The
// radio is simulated; the phone uses the module that the web app uses.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import {
  type BluetoothEntry,
  type BluetoothReadable,
  bluetoothUuids,
  type BluetoothWritable,
  bluetoothWrites,
  encryptBluetoothValue,
  improvUuids,
  readBluetoothErrors,
  readBluetoothKey,
  readBluetoothNetworks,
  readBluetoothStatus,
} from '@platform/contract/provisioning/bluetooth';
import { Cell } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { captureLog, seededRandom } from '@platform/kit/testing';
import { runtimeEnvironment } from '../src/install/unit.ts';
import { childBluetooth } from '../src/network/endpoints/bluetooth-endpoint.ts';
import type { BluetoothWanted } from '../src/network/endpoints/bluetooth-wanted.ts';
import type { ProvisioningView, Submission, SubmissionAnswer } from '../src/network/endpoints/provisioning-view.ts';
import { pids, commandOf } from '../src/os/linux/kernel/process-table.ts';
import { posixPrograms } from '../src/os/posix/programs.ts';
import { SimBluetooth } from '../src/os/sim/bluetooth.ts';
import { built } from './built.ts';
import { provisioningView } from './provisioning-device.ts';

const on: BluetoothWanted = { is: 'on', name: 'platform-setup-rover', password: 'hot:spot' };

async function until<T>(what: string, look: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  const end = systemClock.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (systemClock.now() > end) throw new Error(`not in time: ${what}`);
    await systemClock.sleep(20);
  }
}

class World implements AsyncDisposable {
  readonly radio = new SimBluetooth({ hasAdapter: true });
  readonly view = new Cell<ProvisioningView>({ ...provisioningView, lastAttempt: null });
  readonly submissions: Submission[] = [];
  readonly log = captureLog(systemClock);
  /** Everything that went over the air. */
  readonly air: Uint8Array[] = [];
  answer: SubmissionAnswer = { ok: true };
  activity = 0;
  readonly endpoint = childBluetooth({
    bluetooth: this.radio,
    command: [built('platform-agent').file, 'endpoints'],
    env: runtimeEnvironment,
    programs: posixPrograms(10_000),
    memoryLimitBytes: 96 * 1024 * 1024,
    clock: systemClock,
    log: this.log.log,
  });
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor() {
    const handlers = {
      active: () => void this.activity++,
      exit: () => assert.fail('provisioning was left'),
      submit: async (submission: Submission) => {
        this.submissions.push(submission);
        return this.answer;
      },
    };
    this.#running = this.endpoint.run({ view: this.view, handlers }, this.#stop.signal);
  }

  async open(): Promise<void> {
    this.endpoint.wanted.set(on);
    await until('a phone sees it, with its key', () => this.seen() && this.read('pub_key').length > 0);
  }

  seen = (): boolean => this.radio.seen().length > 0;

  /** The process that serves now. */
  async pid(): Promise<number | undefined> {
    for (const pid of await pids()) if (/endpoints --bluetooth/.test((await commandOf(pid)) ?? '')) return pid;
    return undefined;
  }

  read(name: BluetoothReadable): Uint8Array {
    const value = this.radio.read(bluetoothUuids.readable[name]);
    if (typeof value === 'string') return new Uint8Array(0);
    this.air.push(value);
    return value;
  }

  async encrypted(value: string, hotspotPassword = 'hot:spot'): Promise<Uint8Array> {
    return encryptBluetoothValue(await readBluetoothKey(this.read('pub_key')), { hotspotPassword, value });
  }

  write(name: BluetoothWritable, bytes: Uint8Array): Promise<string> {
    this.air.push(bytes);
    return this.radio.write(bluetoothUuids.writable[name], bytes);
  }

  async enter(entry: BluetoothEntry): Promise<string[]> {
    const answers: string[] = [];
    for (const [name, value] of bluetoothWrites(entry))
      answers.push(await this.write(name, await this.encrypted(value)));
    return answers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

const wifi = { ssid: 'barn', psk: 'correct horse' };

test('a phone enters network and set-up code; nothing on the air has a secret; the outcome reaches the phone', async () => {
  await using world = new World();
  await world.open();
  assert.deepEqual(world.radio.seen(), [bluetoothUuids.service, improvUuids.service]);
  assert.deepEqual(
    readBluetoothNetworks(world.read('networks')).map(({ ssid }) => ssid),
    ['barn', 'Café ☕', 'office'],
  );
  for (const uuid of [bluetoothUuids.readable.status, bluetoothUuids.readable.errors]) world.radio.subscribe(uuid);
  const setUpCode = 'ABCD-EFGH@fleet.example';
  assert.deepEqual(await world.enter({ wifi, credentials: { setUpCode } }), ['ok', 'ok', 'ok', 'ok']);
  await until('it is handed over', () => world.submissions.length === 1);
  assert.deepEqual(world.submissions, [{ wifi: { ...wifi, isHidden: false }, credentials: setUpCode }]);
  assert.ok(world.activity > 0, 'it is the activity of a user');

  const text = 'The password of barn is wrong.';
  const lastAttempt = { ssid: 'barn', result: 'wrong-password' as const, text, wall: 50_000 };
  world.view.set({ ...world.view.get(), lastAttempt });
  const errors = await until('the phone is notified', () => world.radio.notified.at(-1));
  assert.deepEqual(readBluetoothErrors(errors.value), [text]);
  world.view.set({
    ...world.view.get(),
    lastAttempt: { ...lastAttempt, result: 'ok', text: '' },
    isOnline: true,
    hasCredentials: true,
  });
  const online = { hasCredentials: true, isOnline: true };
  await until('it is online', () => {
    const isStatus = ({ uuid }: { uuid: string }): boolean => uuid === bluetoothUuids.readable.status;
    const { value } = world.radio.notified.findLast(isStatus) ?? {};
    return value && JSON.stringify(readBluetoothStatus(value)) === JSON.stringify(online);
  });

  const air = Buffer.concat(world.air);
  for (const secret of ['correct horse', 'hot:spot', 'ABCD', 'fleet.example'])
    assert.equal(air.includes(secret), false, secret);
  assert.equal(world.log.text().includes('correct horse'), false);
});

test('a refusal of the agent, and an entry that the agent would not take, are errors for the phone', async () => {
  await using world = new World();
  await world.open();
  world.answer = { ok: false, code: 'X', text: 'The device has other credentials.' };
  await world.enter({ wifi });
  const errors = (): string[] => readBluetoothErrors(world.read('errors'));
  await until('the error', () => errors()[0] === 'The device has other credentials.');
  await world.enter({ wifi: { ssid: 'barn', psk: 'short' } });
  await until('the other error', () => errors()[0]?.startsWith('The password has only 5 characters'));
  assert.equal(world.submissions.length, 1);
});

test('another password is refused, and a repeated write; neither is the activity of a user', async () => {
  await using world = new World();
  await world.open();
  assert.equal(await world.write('ssid', await world.encrypted('barn', 'guess')), 'NotAuthorized');
  assert.equal(await world.write('ssid', Buffer.from('barn')), 'InvalidValueLength');
  assert.equal(world.activity, 0);
  const once = await world.encrypted('barn');
  assert.equal(await world.write('ssid', once), 'ok');
  assert.equal(await world.write('ssid', once), 'NotAuthorized');
});

test('Improv shows state and networks, and refuses the password; it is not the activity of a user', async () => {
  await using world = new World();
  await world.open();
  const read = (uuid: string): number[] => [...Buffer.from(world.radio.read(uuid))];
  assert.deepEqual(read(improvUuids.state), [1]);
  world.radio.subscribe(improvUuids.result);
  assert.equal(await world.radio.write(improvUuids.command, Buffer.of(4, 0)), 'ok');
  assert.equal(await world.radio.write(improvUuids.command, Buffer.of(4)), 'ok');
  const { value } = await until('the networks', () => world.radio.notified.at(-1));
  assert.match(Buffer.from(value).toString(), /barn.*WPA2/s);
  await world.radio.write(improvUuids.command, Buffer.from('0106046261726e00dd', 'hex'));
  await until('the error', () => read(improvUuids.error)[0] === 4 || read(improvUuids.error)[0] === 1);
  assert.deepEqual([world.submissions, world.activity], [[], 0]);
});

test('the process that reads what phones write has neither root nor a capability', async () => {
  await using world = new World();
  await world.open();
  const pid = await until('the process', () => world.pid());
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const of = (name: string): string => new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(status)?.[1] ?? '';
  assert.equal(of('CapEff'), '0000000000000000');
  if (process.getuid?.() !== 0) return; // without root there is nothing to lose
  assert.deepEqual([of('Groups').trim(), of('NoNewPrivs'), of('CapBnd')], ['', '1', '0000000000000000']);
  assert.ok(Number(of('Uid').split('\t')[0]) >= 61_184);
});

test('a process that dies is started again with another key; what the one before staged is gone', async () => {
  await using world = new World();
  await world.open();
  const before = Buffer.from(world.read('pub_key'));
  await world.write('ssid', await world.encrypted('barn'));
  const recorded = await world.encrypted('office');
  process.kill(await until('the process', () => world.pid()), 'SIGKILL');
  await until('another key', () => Buffer.compare(before, world.read('pub_key')) !== 0);
  assert.equal(await world.write('ssid', recorded), 'NotAuthorized', 'a recording of before');
  assert.equal(await world.write('exit_provisioning', await world.encrypted('')), 'ok');
  await world.enter({ wifi: { ssid: 'office', psk: 'correct horse' } });
  await until('it is handed over', () => world.submissions.length === 1);
  assert.equal(world.submissions[0]?.wifi?.ssid, 'office');
});

test('it is open while it is wanted; off ends it at once, with the process', async () => {
  await using world = new World();
  assert.equal(world.seen(), false);
  await world.open();
  world.radio.setAdapter(false);
  await until('the adapter is gone', () => !world.seen());
  world.radio.setAdapter(true);
  await until('it is back', () => world.seen());
  world.endpoint.wanted.set({ is: 'ending' });
  world.endpoint.wanted.set({ ...on });
  await systemClock.sleep(200);
  assert.equal(world.seen(), true, 'it does not blink');
  world.endpoint.wanted.set({ is: 'off' });
  await until('it is gone', async () => !world.seen() && (await world.pid()) === undefined);
});

test('2,000 hostile writes: refused, nothing handed over, and the same process serves after them', async () => {
  await using world = new World();
  await world.open();
  const pid = await world.pid();
  const random = seededRandom(15);
  const uuids = [...Object.values(bluetoothUuids.writable), improvUuids.command];
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  for (let n = 0; n < 2_000; n++) {
    const bytes = randomBytes(pick([0, 1, 3, 20, 255, 256, 257, 512]));
    await world.radio.write(pick(uuids), bytes);
  }
  assert.deepEqual([world.submissions, await world.pid()], [[], pid]);
  const text = await until('it answers again', async () => {
    const answer = await world.write('ssid', await world.encrypted('barn'));
    return answer !== 'Failed' && answer;
  });
  assert.ok(text === 'ok' || text === 'NotAuthorized', text);
});
