// One contract for every implementation of the port Network: call it with a factory for each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JoinResult, Network, NewProfile } from '../src/os/network-port.ts';

export interface WorldAccessPoint {
  /** Empty: an open network. */
  password: string;
  isOn: boolean;
  isHidden: boolean;
  hasDhcp: boolean;
}

/** A machine with the radio wlan0 and the cable eth0, unplugged, and what is around it. */
export interface NetworkWorld extends AsyncDisposable {
  network: Network;
  /** Time passes: a little of the real time, or some of the simulated one. */
  pass(): Promise<void>;
  /** Adds or changes an access point; the default has the password `password1`. */
  accessPoint(ssid: string, how?: Partial<WorldAccessPoint>): void;
  plugCable(isPlugged: boolean): void;
  unplugRadio(): void;
  setManager(to: 'ready' | 'absent' | 'too-old'): Promise<void>;
  /** Saves a wired profile of another program. @returns its UUID */
  foreignProfile(name: string): string;
  /** The manager rolls back by itself: the time of every checkpoint is over. */
  endCheckpoints(): Promise<void>;
  /** Whose rules the radios obey. */
  country(): string;
  /** The kernel does not know the rules of this country. */
  forgetCountry(country: string): void;
  /** Another program holds port 53. */
  takeDnsPort(program: string): void;
}

const mostPasses = 2_000;

async function finished<T>(world: NetworkWorld, work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const end = (): void => over.abort();
  work.then(end, end);
  for (let n = 0; !over.signal.aborted && n < mostPasses; n++) await world.pass();
  assert.ok(over.signal.aborted, 'the call never ends');
  return work;
}

async function until(world: NetworkWorld, what: string, holds: () => boolean): Promise<void> {
  for (let n = 0; !holds(); n++) {
    assert.ok(n < mostPasses, `${what}: ${JSON.stringify(world.network.state.get())}`);
    await world.pass();
  }
}

export const wifiProfile = (ssid: string, password = 'password1', how: Partial<NewProfile> = {}): NewProfile => ({
  name: `${ssid}@wlan0`,
  type: 'wifi',
  interface: 'wlan0',
  priority: 999,
  isAutoconnect: false,
  mark: { kind: 'provisioned' },
  wifi: { ssid, isHidden: false, security: password === '' ? { is: 'open' } : { is: 'psk', psk: password } },
  dns: [],
  routeMetric: 600,
  ...how,
});

const hotspot = {
  interface: 'wlan0',
  ssid: 'platform-setup-box',
  password: 'platformsetup',
  isRedirecting: true,
  isSharing: false,
  band: '',
} as const;
const reasonOf = (result: JoinResult): string => (result.ok ? 'ok' : result.reason);
const never = new AbortController().signal;

export function networkContract(kind: string, make: () => Promise<NetworkWorld>): void {
  const withWorld = (name: string, story: (world: NetworkWorld) => Promise<void>): void => {
    test(`${kind}: ${name}`, async () => {
      await using world = await make();
      const stop = new AbortController();
      const running = world.network.run(stop.signal);
      try {
        await until(world, 'the manager is ready', () => world.network.state.get().manager === 'ready');
        await story(world);
      } finally {
        stop.abort();
        await finished(world, running);
      }
    });
  };
  const deviceOf = (world: NetworkWorld, name: string) =>
    world.network.state.get().devices.find((device) => device.interface === name);
  const profileOf = (world: NetworkWorld, uuid: string) =>
    world.network.state.get().profiles.find((profile) => profile.uuid === uuid);
  const scan = (world: NetworkWorld): Promise<void> => finished(world, world.network.scan('wlan0', never));
  const saved = (world: NetworkWorld, profile: NewProfile): Promise<string> =>
    finished(world, world.network.save(profile));
  const joined = (world: NetworkWorld, uuid: string, name = 'wlan0'): Promise<JoinResult> =>
    finished(world, world.network.join(uuid, name, never));

  withWorld('it reports the radio and the cable', async (world) => {
    const { version } = world.network.state.get();
    assert.match(version, /^\d+\.\d+/);
    assert.equal(deviceOf(world, 'wlan0')?.type, 'wifi');
    await until(world, 'no cable', () => ['unavailable', undefined].includes(deviceOf(world, 'eth0')?.state));
    world.plugCable(true);
    await until(world, 'a cable', () => deviceOf(world, 'eth0')?.state !== 'unavailable' && !!deviceOf(world, 'eth0'));
    assert.equal(deviceOf(world, 'eth0')?.type, 'wired');
  });

  withWorld('a scan shows the networks in range, but no hidden ones', async (world) => {
    world.accessPoint('Home');
    world.accessPoint('Cafe', { password: '' });
    world.accessPoint('Secret', { isHidden: true });
    await scan(world);
    await until(world, 'Home is seen', () => world.network.state.get().visible.some(({ ssid }) => ssid === 'Home'));
    const { visible } = world.network.state.get();
    assert.deepEqual(visible.map(({ ssid, interface: name, security }) => `${ssid} ${name} ${security}`).toSorted(), [
      'Cafe wlan0 open',
      'Home wlan0 wpa-psk',
    ]);
    assert.ok(visible.every(({ signalPercent }) => signalPercent > 0 && signalPercent <= 100));
  });

  withWorld('a profile is saved with its mark, changed and removed', async (world) => {
    const mark = { kind: 'additional', name: 'office', digest: 'abc' } as const;
    const uuid = await saved(world, wifiProfile('Office', 'password1', { mark, priority: 10 }));
    assert.deepEqual(profileOf(world, uuid)?.mark, mark);
    assert.equal(profileOf(world, uuid)?.ssid, 'Office');
    assert.equal(profileOf(world, uuid)?.priority, 10);
    assert.equal(profileOf(world, uuid)?.isAutoconnect, false);
    await finished(world, world.network.setPriority(uuid, -999));
    await finished(world, world.network.setAutoconnect(uuid, true));
    await until(world, 'the changes', () => profileOf(world, uuid)?.isAutoconnect === true);
    assert.equal(profileOf(world, uuid)?.priority, -999);
    const again = await finished(world, world.network.save(wifiProfile('Office', 'password2', { mark }), uuid));
    assert.equal(again, uuid);
    assert.equal(profileOf(world, uuid)?.priority, 999);
    await finished(world, world.network.remove(uuid));
    await until(world, 'it is gone', () => profileOf(world, uuid) === undefined);
    await finished(world, world.network.remove(uuid));
  });

  withWorld('a profile of another program is never changed or removed', async (world) => {
    const uuid = world.foreignProfile('Wired connection 1');
    await until(world, 'it is seen', () => profileOf(world, uuid) !== undefined);
    assert.equal(profileOf(world, uuid)?.mark, undefined);
    const before = profileOf(world, uuid);
    const own = wifiProfile('Home');
    for (const change of [
      () => world.network.remove(uuid),
      () => world.network.setPriority(uuid, 1),
      () => world.network.setAutoconnect(uuid, false),
      () => world.network.disown(uuid),
      () => world.network.save(own, uuid),
    ])
      await assert.rejects(finished<unknown>(world, change()));
    assert.deepEqual(profileOf(world, uuid), before);
  });

  withWorld('a disowned profile stays and belongs to the operating system', async (world) => {
    const uuid = await saved(world, wifiProfile('Home'));
    await finished(world, world.network.disown(uuid));
    await until(world, 'no mark', () => profileOf(world, uuid)?.mark === undefined);
    assert.equal(profileOf(world, uuid)?.ssid, 'Home');
    await assert.rejects(finished(world, world.network.remove(uuid)));
  });

  withWorld('the files that it wrote are restored once', async (world) => {
    await finished(world, world.network.startHotspot(hotspot, never));
    await finished(world, world.network.setPowerSave(false));
    await finished(world, world.network.stopHotspot());
    const restored = await finished(world, world.network.restoreFiles());
    assert.deepEqual([restored.length, restored.every(({ isRestored }) => isRestored)], [2, true]);
    assert.deepEqual(await finished(world, world.network.restoreFiles()), []);
  });

  withWorld('it joins networks with a password, open ones and hidden ones', async (world) => {
    world.accessPoint('Home');
    world.accessPoint('Cafe', { password: '' });
    world.accessPoint('Secret', { isHidden: true });
    await scan(world);
    const hidden = wifiProfile('Secret');
    if (hidden.wifi) hidden.wifi.isHidden = true;
    for (const profile of [wifiProfile('Home'), wifiProfile('Cafe', ''), hidden]) {
      const uuid = await saved(world, profile);
      assert.equal(reasonOf(await joined(world, uuid)), 'ok');
      await until(world, 'it is connected', () => deviceOf(world, 'wlan0')?.profile === uuid);
      const device = deviceOf(world, 'wlan0');
      assert.equal(device?.state, 'connected');
      assert.equal(device.ssid, profile.wifi?.ssid);
      assert.match(device.addresses[0] ?? '', /^[\d.]+\/\d+$/);
      assert.ok(device.hasDefaultRoute && device.signalPercent > 0 && !device.isHotspot);
    }
  });

  withWorld('a changed password is used by the next attempt', async (world) => {
    world.accessPoint('Home');
    await scan(world);
    const uuid = await saved(world, wifiProfile('Home', 'wrong-password'));
    assert.equal(reasonOf(await joined(world, uuid)), 'wrong-password');
    await finished(world, world.network.save(wifiProfile('Home'), uuid));
    assert.equal(reasonOf(await joined(world, uuid)), 'ok');
  });

  for (const [reason, how, password] of [
    ['wrong-password', {}, 'password2'],
    ['no-address', { hasDhcp: false }, 'password1'],
    ['not-found', { isOn: false }, 'password1'],
  ] as const) {
    withWorld(`a join fails with ${reason}`, async (world) => {
      world.accessPoint('Home', how);
      await scan(world);
      const uuid = await saved(world, wifiProfile('Home', password));
      assert.equal(reasonOf(await joined(world, uuid)), reason);
      await until(world, 'no link', () => deviceOf(world, 'wlan0')?.state !== 'connected');
      assert.ok(profileOf(world, uuid), 'the profile stays');
    });
  }

  withWorld('a join on a device that is not there fails at once', async (world) => {
    world.accessPoint('Home');
    const uuid = await saved(world, wifiProfile('Home', 'password1', { interface: '' }));
    assert.equal(reasonOf(await joined(world, uuid, 'wlan7')), 'device-gone');
    world.unplugRadio();
    await until(world, 'no radio', () => deviceOf(world, 'wlan0') === undefined);
    assert.equal(reasonOf(await joined(world, uuid)), 'device-gone');
    assert.equal(world.network.state.get().manager, 'ready');
  });

  withWorld('a wired profile joins when the cable is plugged', async (world) => {
    world.plugCable(true);
    const profile = wifiProfile('', '', { name: 'cable', type: 'wired', interface: 'eth0', routeMetric: 100 });
    delete profile.wifi;
    const uuid = await saved(world, { ...profile, ipv4: { address: '10.0.0.5/24', gateway: '10.0.0.1' } });
    assert.equal(reasonOf(await joined(world, uuid, 'eth0')), 'ok');
    await until(world, 'connected', () => deviceOf(world, 'eth0')?.state === 'connected');
    assert.deepEqual(deviceOf(world, 'eth0')?.addresses, ['10.0.0.5/24']);
  });

  withWorld('the hotspot starts, is not a network in range, and stops', async (world) => {
    const result = await finished(world, world.network.startHotspot(hotspot, never));
    assert.deepEqual(result, { ok: true, address: '10.42.0.1' });
    await until(world, 'it runs', () => deviceOf(world, 'wlan0')?.isHotspot === true);
    assert.equal(deviceOf(world, 'wlan0')?.ssid, hotspot.ssid);
    assert.deepEqual(deviceOf(world, 'wlan0')?.addresses, ['10.42.0.1/24']);
    assert.equal(deviceOf(world, 'wlan0')?.hasDefaultRoute, false);
    await finished(world, world.network.stopHotspot());
    await until(world, 'it is gone', () => deviceOf(world, 'wlan0')?.isHotspot === false);
    await finished(world, world.network.stopHotspot());
  });

  withWorld('the end of the hotspot leaves another network alone', async (world) => {
    world.accessPoint('Home');
    await scan(world);
    await finished(world, world.network.startHotspot(hotspot, never));
    const uuid = await saved(world, wifiProfile('Home'));
    assert.equal(reasonOf(await joined(world, uuid)), 'ok');
    await finished(world, world.network.stopHotspot());
    assert.equal(deviceOf(world, 'wlan0')?.profile, uuid);
  });

  withWorld('a hotspot without a radio, or beside another DNS server, fails with the reason', async (world) => {
    const elsewhere = await finished(world, world.network.startHotspot({ ...hotspot, interface: 'wlan7' }, never));
    assert.equal(elsewhere.ok ? '' : elsewhere.reason, 'no-radio');
    world.takeDnsPort('bind9');
    const beside = await finished(world, world.network.startHotspot(hotspot, never));
    assert.equal(beside.ok ? '' : beside.reason, 'foreign');
    assert.match(beside.ok ? '' : beside.detail, /bind9/);
    assert.equal(deviceOf(world, 'wlan0')?.isHotspot, false);
  });

  withWorld(
    'a checkpoint restores the profile in use and removes new ones; others can be made again',
    async (world) => {
      world.accessPoint('Home');
      await scan(world);
      const home = await saved(world, wifiProfile('Home'));
      const spare = await saved(world, wifiProfile('Spare'));
      assert.equal(reasonOf(await joined(world, home)), 'ok');
      await until(world, 'it is connected', () => deviceOf(world, 'wlan0')?.profile === home);
      const first = await finished(world, world.network.checkpoint(60));
      const added = await saved(world, wifiProfile('Office'));
      await finished(world, world.network.save(wifiProfile('Home', 'password2', { priority: 7 }), home));
      await finished(world, world.network.remove(spare));
      await finished(world, first.rollBack());
      await until(world, 'as before', () => profileOf(world, home)?.priority === 999 && !profileOf(world, added));
      assert.equal(profileOf(world, spare), undefined);
      assert.equal(await finished(world, world.network.save(wifiProfile('Spare'), spare)), spare);
      await until(world, 'it is back', () => profileOf(world, spare)?.ssid === 'Spare');
    },
  );

  withWorld('a removed network is in use until the manager has taken its link down', async (world) => {
    world.accessPoint('Home');
    await scan(world);
    const home = await saved(world, wifiProfile('Home'));
    assert.equal(reasonOf(await joined(world, home)), 'ok');
    await until(world, 'it is connected', () => deviceOf(world, 'wlan0')?.state === 'connected');
    await finished(world, world.network.remove(home));
    const after = deviceOf(world, 'wlan0');
    assert.deepEqual([profileOf(world, home), after?.profile], [undefined, home], 'the link outlives its profile');
    assert.notDeepEqual(after?.addresses, []);
    await until(world, 'it has left', () => deviceOf(world, 'wlan0')?.profile === '');
    assert.equal(deviceOf(world, 'wlan0')?.state, 'disconnected');
  });

  withWorld('a checkpoint brings a removed network back, and its link', async (world) => {
    world.accessPoint('Home');
    await scan(world);
    const home = await saved(world, wifiProfile('Home'));
    assert.equal(reasonOf(await joined(world, home)), 'ok');
    await until(world, 'it is connected', () => deviceOf(world, 'wlan0')?.state === 'connected');
    const checkpoint = await finished(world, world.network.checkpoint(60));
    await finished(world, world.network.remove(home));
    await until(world, 'it has left', () => deviceOf(world, 'wlan0')?.profile === '');
    await finished(world, checkpoint.rollBack());
    await until(world, 'it is back', () => deviceOf(world, 'wlan0')?.state === 'connected');
    assert.equal(deviceOf(world, 'wlan0')?.profile, home);
    assert.equal(profileOf(world, home)?.ssid, 'Home');
  });

  withWorld('what a confirmed checkpoint kept stays; one that has ended is not confirmed', async (world) => {
    const checkpoint = await finished(world, world.network.checkpoint(60));
    const later = await saved(world, wifiProfile('Office'));
    assert.equal(await finished(world, checkpoint.confirm()), true);
    await world.pass();
    assert.ok(profileOf(world, later));
    const late = await finished(world, world.network.checkpoint(60));
    const lost = await saved(world, wifiProfile('Lost'));
    await world.endCheckpoints();
    assert.equal(await finished(world, late.confirm()), false);
    await until(world, 'it is rolled back', () => !profileOf(world, lost));
    await finished(world, late.rollBack());
  });

  withWorld('a country is set, read back and given back, also without a manager', async (world) => {
    const before = world.country();
    const set = (country: string): Promise<string> => finished(world, world.network.setCountry(country));
    world.forgetCountry('XX');
    assert.equal(await set('DE'), '');
    assert.equal(world.country(), 'DE');
    assert.match(await set('XX'), /\S/);
    await world.setManager('absent');
    assert.equal(await set('US'), '');
    assert.equal(world.country(), 'US');
    assert.equal(await set(''), '');
    assert.equal(world.country(), before);
  });

  withWorld('a manager that stops and comes back is taken up again', async (world) => {
    for (const missing of ['absent', 'too-old'] as const) {
      await world.setManager(missing);
      await until(world, missing, () => world.network.state.get().manager === missing);
      await assert.rejects(finished(world, world.network.save(wifiProfile('Home'))), 'code');
      await world.setManager('ready');
      await until(world, 'ready', () => world.network.state.get().manager === 'ready');
    }
    const uuid = await saved(world, wifiProfile('Home'));
    assert.ok(profileOf(world, uuid));
  });

  withWorld('a manager answers while it runs', async (world) => {
    assert.equal(await world.network.isAnswering(5_000), true);
    await world.setManager('absent');
    await until(world, 'it is gone', () => world.network.state.get().manager === 'absent');
    assert.equal(await world.network.isAnswering(5_000), false);
  });

  withWorld('a join that is aborted ends', async (world) => {
    world.accessPoint('Home');
    await scan(world);
    const uuid = await saved(world, wifiProfile('Home'));
    assert.equal(reasonOf(await finished(world, world.network.join(uuid, 'wlan0', AbortSignal.abort()))), 'timed-out');
  });
}
