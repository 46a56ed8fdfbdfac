// The CONNECT tab over Bluetooth. `navigator.bluetooth` is a scripted stand-in without a radio: it hands each read and
// write to the device's own code of the GATT service, which decrypts and checks them as on a device.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { bluetoothUuids } from '@platform/contract/provisioning/bluetooth';
import { parseSetUpText } from '@platform/contract/provisioning/set-up-code';
import { systemClock } from '@platform/kit/node';
import type { BrowserContext } from 'playwright-core';
import { GattProvisioning } from '../../apps/agent/src/endpoints/gatt-provisioning.ts';
import type { ProvisioningView, Submission } from '../../apps/agent/src/network/endpoints/provisioning-view.ts';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';

const fresh: ProvisioningView = {
  manufacturer: 'Example Robotics',
  model: 'Rover 2',
  fragmentId: '',
  hostname: 'barn',
  agentVersion: '1.2.3',
  hasCredentials: false,
  isOnline: false,
  at: 'waiting',
  networks: [
    { ssid: 'Farm House', security: 'wpa-psk', signalPercent: 82 },
    { ssid: 'Guests', security: 'open', signalPercent: 40 },
  ],
  connectedTo: '',
  lastAttempt: null,
};

/** A device without a radio. */
function device() {
  const state = { view: fresh, problem: '' };
  const submitted: Submission[] = [];
  const gatt = new GattProvisioning({
    view: () => state.view,
    active: () => {},
    handOver: async (submission) => {
      submitted.push(submission);
      return state.problem;
    },
    changed: () => {},
    privateKey: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
    hotspotPassword: 'of-the-label',
    clock: systemClock,
  });
  const nameOf = <T extends string>(table: Readonly<Record<T, string>>, uuid: string): T => {
    const name = (Object.keys(table) as T[]).find((one) => table[one] === uuid);
    assert.ok(name, uuid);
    return name;
  };
  return {
    state,
    submitted,
    read: (uuid: string): number[] => [...gatt.read(nameOf(bluetoothUuids.readable, uuid))],
    write: (uuid: string, bytes: number[]): void =>
      gatt.write(nameOf(bluetoothUuids.writable, uuid), Uint8Array.from(bytes)),
  };
}

/** Runs in the page before its own scripts. */
const standIn = `
  const characteristic = (uuid) => ({
    readValue: async () => new DataView(Uint8Array.from(await window.gattRead(uuid)).buffer),
    writeValueWithResponse: async (value) => {
      if (!(await window.gattWrite(uuid, [...value]))) throw new DOMException('GATT operation failed', 'NotSupportedError');
    },
  });
  const service = { getCharacteristic: async (uuid) => characteristic(uuid) };
  const gatt = {
    connect: async () => ({ getPrimaryService: async (uuid) => (window.gattService = uuid, service) }),
    disconnect() {},
  };
  let isChosen = false;
  navigator.bluetooth = undefined;
  Object.defineProperty(navigator, 'bluetooth', { value: {
    requestDevice: async () => {
      if (!isChosen) { isChosen = true; throw new DOMException('User cancelled', 'NotFoundError'); }
      return { name: 'platform-setup-barn', gatt };
    },
  }});`;

async function withDevice(context: BrowserContext, { read, write }: ReturnType<typeof device>): Promise<void> {
  await context.exposeFunction('gattRead', read);
  await context.exposeFunction('gattWrite', (uuid: string, bytes: number[]) => {
    try {
      write(uuid, bytes);
      return true;
    } catch {
      return false;
    }
  });
  await context.addInitScript(standIn);
}

test('story: a wrong hotspot password, a network that fails, then the device is online', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const { machine } = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: 'barn' });
  const made = await client.appClient.createFragment({
    organizationId: ready.org_id,
    name: 'rover base',
    configJson: '{"agent": {"advanced_settings": {"debug": true}}}',
  });
  const fragmentId = made.fragment?.id ?? '';
  await atEachWidth({ client }, async ({ width, context, signIn }) => {
    const nearby = device();
    nearby.state.view = { ...fresh, fragmentId };
    await withDevice(context, nearby);
    const page = await signIn();
    await page.goto(`${ready.url}/machines/${machine?.id ?? ''}/connect`);
    await page.getByRole('button', { name: 'Find the device' }).click();
    await page.getByText('No device was chosen.').waitFor();
    await page.getByRole('button', { name: 'Find the device' }).click();
    await page.getByText('platform-setup-barn').waitFor();
    await page.getByText('Example Robotics Rover 2').waitFor();
    await page.getByText(/The device names the fragment rover base/).waitFor();
    await page.getByLabel('WiFi password').fill('password1');
    const connect = page.getByRole('button', { name: 'Connect the device' });
    await page.getByLabel("Password of the device's hotspot").fill('not-the-label');
    await connect.click();
    await page.getByText(/The password of its hotspot is wrong/).waitFor();
    assert.deepEqual(nearby.submitted, []);
    await checkPage(page, `bluetooth refused, ${width} px`);

    nearby.state.problem = 'The password of Farm House is wrong.';
    await page.getByLabel("Password of the device's hotspot").fill('of-the-label');
    await connect.click();
    await page.getByText('The password of Farm House is wrong.').waitFor();

    nearby.state.problem = '';
    await connect.click();
    await page.getByText('The device is joining the network.').waitFor();
    nearby.state.view = { ...fresh, fragmentId, isOnline: true };
    await page.getByText('The device has joined the network.').waitFor();
    await checkPage(page, `bluetooth joined, ${width} px`);
    const { wifi, credentials = '' }: Submission = nearby.submitted.at(-1) ?? {};
    assert.deepEqual(wifi, { ssid: 'Farm House', psk: 'password1', isHidden: false });
    assert.equal(parseSetUpText(credentials)?.server, ready.url);
    const { configJson, revision } = await client.fleetClient.getConfig({ partId: machine?.partId ?? '' });
    assert.deepEqual([JSON.parse(configJson), revision], [{ fragments: [fragmentId] }, 1n]);
  });
});

test('a browser without Bluetooth gets a plain sentence, and the other way', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const { machine } = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: 'barn' });
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
    await context.addInitScript("Object.defineProperty(navigator, 'bluetooth', { value: undefined })");
    const page = await context.newPage();
    await followSignInLink(page, (await client.sessionClient.createSignInLink({})).url);
    await page.goto(`${ready.url}/machines/${machine?.id ?? ''}/connect`);
    await page.getByText(/This browser cannot use Bluetooth/).waitFor();
    await checkPage(page, 'bluetooth missing, 360 px');
    await page.getByRole('link', { name: 'Set up by a code' }).click();
    await page.getByRole('button', { name: 'Create the code' }).waitFor();
  } finally {
    await browser.close();
  }
});
