// NetworkManager can miss that an access point is gone: the kernel's link counts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LinkDevice } from '../src/os/network-port.ts';
import { lostLinkMs } from '../src/os/linux/kernel/radio-links.ts';
import { FakeClock } from '@platform/kit/testing';
import { wifiProfile } from './network-contract.ts';
import { scripted } from './scripted-network-world.ts';

const never = new AbortController().signal;

test('a radio whose access point is gone is not connected, though NetworkManager has missed it', async () => {
  const clock = new FakeClock();
  await using world = await scripted(clock);
  const { network, script } = world;
  const stop = new AbortController();
  const running = network.run(stop.signal);
  const shows = async (what: string, isTrue: (device: LinkDevice | undefined) => boolean): Promise<void> => {
    const end = clock.now() + 120_000;
    const device = () => network.state.get().devices.find((one) => one.interface === 'wlan0');
    while (!isTrue(device())) {
      assert.ok(clock.now() < end, `${what}: ${JSON.stringify(device())}`);
      await clock.advance(200);
      await world.pass();
    }
  };
  await shows('it is there', (device) => device !== undefined);
  world.accessPoint('Home', {});
  const uuid = await network.save(wifiProfile('Home'));
  let isJoined = false;
  const joining = network.join(uuid, 'wlan0', never).then(() => (isJoined = true));
  await shows('joined', (device) => isJoined && device?.state === 'connected');
  await joining;

  script.setRadioLink(false);
  const since = clock.now();
  await shows('it is lost', (device) => device?.state === 'disconnected' && device.addresses.length === 0);
  assert.ok(clock.now() - since >= lostLinkMs, 'a short loss is none');
  script.setRadioLink(true);
  await shows('it is back', (device) => device?.state === 'connected' && device.profile === uuid);
  // A loss that ends before NetworkManager itself would give up is none.
  script.setRadioLink(false);
  await clock.advance(lostLinkMs / 2);
  script.setRadioLink(true);
  for (let n = 0; n < 400; n++) {
    await clock.advance(200);
    if (n % 40 === 0) await world.pass();
    assert.equal(network.state.get().devices.find((one) => one.interface === 'wlan0')?.state, 'connected');
  }
  stop.abort();
  await running;
});
