// The provisioning calls without a socket: what they answer, and what they hand to the agent.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, fromBinary, toBinary, type DescMethodUnary, type MessageInitShape } from '@bufbuild/protobuf';
import { PlatformError } from '@platform/contract/errors/errors';
import { ProvisioningService } from '@platform/contract/gen/platform/provisioning/v1/provisioning_pb';
import { parseCredentials } from '@platform/contract/machine-server/machine-server';
import { Cell } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import type { ProvisioningView, Submission, SubmissionAnswer } from '../src/network/endpoints/provisioning-view.ts';
import { GrpcFailure } from '../src/endpoints/grpc-server.ts';
import { provisioningCalls } from '../src/endpoints/provisioning-rpc.ts';
import { provisioningView } from './provisioning-device.ts';

const { getSmartMachineStatus, getNetworkList, setNetworkCredentials, setSmartMachineCredentials, exitProvisioning } =
  ProvisioningService.method;

function device(answer: () => Promise<SubmissionAnswer> = () => Promise.resolve({ ok: true })) {
  const view = new Cell<ProvisioningView | undefined>(provisioningView);
  const clock = new FakeClock();
  const submitted: Submission[] = [];
  let active = 0;
  let exits = 0;
  const link = {
    view,
    active: () => void active++,
    exit: () => void exits++,
    submit: (submission: Submission) => {
      submitted.push(submission);
      return answer();
    },
  };
  const calls = provisioningCalls(link, clock);
  const call = async <M extends DescMethodUnary>(
    method: M,
    request: MessageInitShape<M['input']> = {} as MessageInitShape<M['input']>,
    service: string = ProvisioningService.typeName,
  ) => {
    const unary = calls.get(`/${service}/${method.name}`);
    assert.ok(unary);
    return fromBinary(method.output as M['output'], await unary(toBinary(method.input, create(method.input, request))));
  };
  return { view, clock, submitted, call, calls, activity: () => active, exits: () => exits };
}

const wifi = { type: 'wifi', ssid: 'barn', psk: 'correct horse' };
const cloud = { id: 'part', secret: 'hush', appAddress: 'https://cloud.example:443' };
const handedWifi = { ssid: 'barn', psk: 'correct horse', isHidden: false };
const credentials = '{"cloud":{"app_address":"https://cloud.example:443","id":"part","secret":"hush"}}';

describe('provisioning RPC', () => {
  test('serves the five calls under both package names', () => {
    const { calls } = device();
    const services = [...calls.keys()].map((path) => path.split('/')[1]);
    assert.deepEqual(services, [
      ...Array.from({ length: 5 }, () => 'platform.provisioning.v1.ProvisioningService'),
      ...Array.from({ length: 5 }, () => 'viam.provisioning.v1.ProvisioningService'),
    ]);
  });

  test('the status names the device; an error is reported once, the failed attempt stays', async () => {
    const { call, view } = device();
    const first = await call(getSmartMachineStatus);
    assert.deepEqual(
      [first.provisioningInfo?.fragmentId, first.provisioningInfo?.model, first.provisioningInfo?.manufacturer],
      [provisioningView.fragmentId, 'Rover 2', 'Example Robotics'],
    );
    assert.deepEqual([first.hasSmartMachineCredentials, first.isOnline, first.agentVersion], [false, false, '0.1.0']);
    assert.deepEqual(first.errors, ['The password of barn is wrong.']);
    const { latestConnectionAttempt: attempt } = await call(getSmartMachineStatus);
    assert.deepEqual(
      [attempt?.type, attempt?.ssid, attempt?.security, attempt?.signal, attempt?.connected, attempt?.lastError],
      ['wifi', 'barn', 'WPA2', 80, false, 'The password of barn is wrong.'],
    );
    assert.deepEqual((await call(getSmartMachineStatus)).errors, []);
    view.set({
      ...provisioningView,
      lastAttempt: { ssid: 'barn', result: 'no-address', text: 'barn gave no address.', wall: 1_767_225_700_000 },
    });
    assert.deepEqual((await call(getSmartMachineStatus)).errors, ['barn gave no address.']);
    view.set({ ...provisioningView, hasCredentials: true, isOnline: true, lastAttempt: null });
    const online = await call(getSmartMachineStatus);
    assert.deepEqual([online.hasSmartMachineCredentials, online.isOnline], [true, true]);
    assert.equal(online.latestConnectionAttempt, undefined);
  });

  test('lists the visible networks, at most 100', async () => {
    const { call, view } = device();
    view.set({ ...provisioningView, connectedTo: 'office' });
    const { networks } = await call(getNetworkList);
    assert.deepEqual(
      networks.map(({ ssid, security, signal, connected, lastError }) => [
        ssid,
        security,
        signal,
        connected,
        lastError,
      ]),
      [
        ['barn', 'WPA2', 80, false, 'The password of barn is wrong.'],
        ['Café ☕', '-', 55, false, ''],
        ['office', 'WPA2 802.1X', 10, true, ''],
      ],
    );
    const many = Array.from({ length: 500 }, (_, n) => ({
      ssid: `${n}`.padEnd(32, 'x'),
      security: 'sae' as const,
      signalPercent: 1,
    }));
    view.set({ ...provisioningView, networks: many });
    assert.equal((await call(getNetworkList)).networks.length, 100);
  });

  const orders: [name: string, steps: string, expected: Submission[], exits?: number][] = [
    ['network, credentials', 'n c x', [{ wifi: handedWifi, credentials }]],
    ['credentials, network', 'c n x', [{ wifi: handedWifi, credentials }]],
    ['each twice', 'n c n c x', [{ wifi: handedWifi, credentials }]],
    ['only the network', 'n x', [{ wifi: handedWifi }]],
    ['only the credentials', 'c x', [{ credentials }]],
    ['nothing: provisioning ends', 'x', [], 1],
    ['nothing, twice', 'x x', [], 2],
    ['nothing, then the network', 'x n x', [{ wifi: handedWifi }], 1],
    [
      'everything twice',
      'n c x n c x',
      [
        { wifi: handedWifi, credentials },
        { wifi: handedWifi, credentials },
      ],
    ],
    ['two hand-overs: nothing of the first is in the second', 'c x n x', [{ credentials }, { wifi: handedWifi }]],
    ['a repeated exit hands over nothing', 'n c x x', [{ wifi: handedWifi, credentials }]],
    ['nothing without an exit', 'n c', []],
  ];
  for (const service of ['platform.provisioning.v1.ProvisioningService', 'viam.provisioning.v1.ProvisioningService'])
    for (const [name, steps, expected, left = 0] of orders)
      test(`${service.split('.')[0]}: ${name}`, async () => {
        const { call, submitted, exits } = device();
        for (const step of steps.split(' '))
          if (step === 'n') await call(setNetworkCredentials, wifi, service);
          else if (step === 'c') await call(setSmartMachineCredentials, { cloud }, service);
          else await call(exitProvisioning, {}, service);
        assert.deepEqual([submitted, exits()], [expected, left]);
      });

  test('both package names stage for the same hand-over; the last value counts', async () => {
    const { call, submitted } = device();
    await call(
      setNetworkCredentials,
      { type: 'wifi', ssid: 'first', psk: 'x' },
      'viam.provisioning.v1.ProvisioningService',
    );
    await call(setNetworkCredentials, { type: 'wifi', ssid: 'not listed', psk: '' });
    await call(exitProvisioning);
    assert.deepEqual(submitted, [{ wifi: { ssid: 'not listed', psk: '', isHidden: true } }]);
  });

  const refused: [name: string, code: string, request: () => Promise<unknown>][] = [];
  const { call: onDevice, submitted: never } = device();
  for (const type of ['', 'wired', 'WIFI', 'bluetooth', 'x'.repeat(10_000)])
    refused.push([
      `the type ${type.slice(0, 10)}`,
      'PROVISIONING_NETWORK_TYPE',
      () => onDevice(setNetworkCredentials, { ...wifi, type }),
    ]);
  refused.push(['no cloud', 'PROVISIONING_CREDENTIALS_MISSING', () => onDevice(setSmartMachineCredentials)]);
  for (const [name, code, request] of refused)
    test(`refused, and not staged: ${name}`, async () => {
      await assert.rejects(request(), (error) => {
        assert.ok(error instanceof PlatformError);
        assert.equal(error.code, code);
        assert.ok(error.message.length < 400);
        return true;
      });
      await onDevice(exitProvisioning);
      assert.deepEqual(never, []);
    });

  const keys: [name: string, apiKey: { id: string; key: string }, expected: object][] = [
    ['whole', { id: 'key', key: 'k' }, { api_key: { id: 'key', key: 'k' } }],
    ['without its id', { id: '', key: 'k' }, {}],
    ['without its key', { id: 'key', key: '' }, {}],
  ];
  for (const [name, apiKey, expected] of keys)
    test(`an API key ${name}`, async () => {
      const { call, submitted } = device();
      await call(setSmartMachineCredentials, { cloud: { ...cloud, apiKey } });
      await call(exitProvisioning);
      const text = submitted[0]?.credentials ?? '';
      const { app_address: address, id, secret, ...rest } = JSON.parse(text).cloud as Record<string, unknown>;
      assert.deepEqual([address, id, secret, rest], ['https://cloud.example:443', 'part', 'hush', expected]);
      assert.equal(parseCredentials(text).ok, true, 'the agent reads it as a credentials file');
    });

  test('a refusal of the agent reaches the client and the next status; nothing stays staged', async () => {
    const answers: SubmissionAnswer[] = [{ ok: false, code: 'WIFI_REFUSED', text: 'The SSID is empty.' }, { ok: true }];
    const { call, submitted } = device(() => Promise.resolve(answers.shift() ?? { ok: true }));
    await call(setNetworkCredentials, wifi);
    await assert.rejects(call(exitProvisioning), (error) => {
      assert.ok(error instanceof GrpcFailure);
      assert.deepEqual([error.status, error.message], [9, 'WIFI_REFUSED: The SSID is empty.']);
      return true;
    });
    await call(exitProvisioning);
    assert.equal(submitted.length, 1);
    assert.ok((await call(getSmartMachineStatus)).errors.includes('The SSID is empty.'));
    assert.deepEqual((await call(getSmartMachineStatus)).errors, []);
  });

  test('an agent that does not take the data within 60 s: an error, and nothing stays staged', async () => {
    const { call, clock, submitted } = device(() => new Promise(() => {}));
    await call(setNetworkCredentials, wifi);
    const exit = assert.rejects(call(exitProvisioning), { code: 'PROVISIONING_NOT_TAKEN' });
    const repeated = assert.rejects(call(exitProvisioning), { code: 'PROVISIONING_NOT_TAKEN' }, 'joins the first');
    await clock.advance(60_000);
    await Promise.all([exit, repeated]);
    await call(exitProvisioning);
    assert.equal(submitted.length, 1);
    assert.equal(clock.pending, 0);
  });

  const entered: [name: string, network: { ssid: string; psk: string }, problem: RegExp][] = [
    ['an empty SSID', { ssid: '', psk: 'correct horse' }, /^INVALID_ARGUMENT: The name of the network is empty/],
    ['an SSID of 33 bytes', { ssid: 'x'.repeat(33), psk: '' }, /^INVALID_ARGUMENT: .* 33 bytes/],
    ['a password of 7 characters', { ssid: 'barn', psk: '1234567' }, /^INVALID_ARGUMENT: .* only 7 characters/],
  ];
  for (const [name, network, problem] of entered)
    test(`refused before the agent sees it: ${name}`, async () => {
      const { call, submitted } = device();
      await call(setNetworkCredentials, { ...network, type: 'wifi' });
      await assert.rejects(call(exitProvisioning), { status: 3, message: problem });
      assert.deepEqual(submitted, []);
      assert.equal((await call(getSmartMachineStatus)).errors.length, 2);
    });

  test('at most five hand-overs in ten seconds reach the agent', async () => {
    const { call, clock, submitted } = device();
    const handOver = async (): Promise<void> => {
      await call(setNetworkCredentials, wifi);
      await call(exitProvisioning);
    };
    for (let n = 0; n < 5; n++) await handOver();
    await assert.rejects(handOver(), { code: 'TOO_MANY_REQUESTS' });
    await clock.advance(9_999);
    await assert.rejects(handOver(), { code: 'TOO_MANY_REQUESTS' });
    assert.equal(submitted.length, 5);
    await clock.advance(1);
    await handOver();
    assert.equal(submitted.length, 6);
  });

  test('each call is activity of a user; unreadable bytes are none', async () => {
    const { call, calls, activity } = device();
    await assert.rejects(
      calls.get('/platform.provisioning.v1.ProvisioningService/GetNetworkList')!(Uint8Array.of(0xff)),
      {
        code: 'INVALID_MESSAGE',
      },
    );
    assert.equal(activity(), 0);
    await call(getSmartMachineStatus);
    await call(getNetworkList);
    await call(setNetworkCredentials, wifi);
    await call(setSmartMachineCredentials, { cloud });
    await call(exitProvisioning);
    assert.equal(activity(), 5);
  });

  test('without a view the device is starting', async () => {
    const { call, view } = device();
    view.set(undefined);
    await assert.rejects(call(getSmartMachineStatus), { status: 9, message: /^STARTING: / });
  });
});
