// How the app shows the network of a machine, on a wide and on a narrow screen; the test simulates the machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  NetworkAttemptResult,
  NetworkConnectivity,
  NetworkLinkState,
  NetworkLinkType,
  NetworkMode,
  NetworkRowState,
  Severity,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { wireMachine } from '../src/wire-callers.ts';

const wifi = { type: NetworkLinkType.WIFI, interface: 'wlan0' };

const network = () => ({
  mode: NetworkMode.NORMAL,
  since: timestampFromMs(systemClock.wall() - 5 * 60_000),
  why: 'Barn has internet; Office, of higher priority, cannot be joined.',
  next: 'Tries Office again.',
  nextTime: timestampFromMs(systemClock.wall() + 10 * 60_000),
  hasLink: true,
  connectivity: NetworkConnectivity.FULL,
  isCloudReached: true,
  isOnFallback: true,
  hotspotSsid: 'press-setup',
  links: [
    {
      ...wifi,
      state: NetworkLinkState.CONNECTED,
      ssid: 'Barn, the one behind the big gate',
      signalPercent: 65,
      addresses: ['192.168.178.120/24', 'fd00:1234:5678:9abc:def0:1234:5678:9abc/64'],
      hasDefaultRoute: true,
      since: timestampFromMs(systemClock.wall() - 3 * 3_600_000),
      why: 'additional network barn-behind-the-gate, priority 5',
    },
    {
      type: NetworkLinkType.WIRED,
      interface: 'enp0s31f6',
      state: NetworkLinkState.UNAVAILABLE,
      why: 'no cable is plugged in',
    },
  ],
  networks: [
    {
      path: 'agent.additional_networks.barn-behind-the-gate',
      name: 'barn-behind-the-gate',
      state: NetworkRowState.IN_USE,
      interface: 'wlan0',
      text: 'connected on wlan0',
      since: timestampFromMs(systemClock.wall() - 3 * 3_600_000),
      measured: timestampFromMs(systemClock.wall() - 60_000),
    },
    {
      path: 'agent.additional_networks.roof',
      name: 'roof',
      state: NetworkRowState.OUT_OF_RANGE,
      text: 'stored, not seen any more',
      since: timestampFromMs(systemClock.wall() - 26 * 3_600_000),
      measured: timestampFromMs(systemClock.wall() - 60_000),
      lastSeen: timestampFromMs(systemClock.wall() - 26 * 3_600_000),
    },
    {
      path: 'agent.additional_networks.press',
      name: 'press',
      state: NetworkRowState.NO_INTERFACE,
      interface: 'eth7',
      text: 'this machine has no interface eth7',
      since: timestampFromMs(systemClock.wall() - 3 * 3_600_000),
      measured: timestampFromMs(systemClock.wall() - 60_000),
      hasNoEffect: true,
    },
    {
      path: 'agent.additional_networks.office',
      name: 'office',
      state: NetworkRowState.REFUSED,
      text: 'eap_client_key does not belong to eap_client_certificate',
      code: 'NETWORK_CERTIFICATE_UNUSABLE',
      since: timestampFromMs(systemClock.wall() - 3 * 3_600_000),
      measured: timestampFromMs(systemClock.wall() - 60_000),
    },
  ],
  settings: [
    {
      path: 'agent.network_configuration.wifi_power_save',
      state: NetworkRowState.NOT_KNOWN,
      text: 'the radio does not say whether it saves power',
      since: timestampFromMs(systemClock.wall() - 3 * 3_600_000),
    },
  ],
  attempts: Array.from({ length: 10 }, (_, n) => ({
    network: n % 3 === 2 ? 'Barn' : 'Office',
    interface: 'wlan0',
    time: timestampFromMs(systemClock.wall() - (n + 1) * 60_000),
    ...(n % 3 === 2
      ? { result: NetworkAttemptResult.OK }
      : { result: NetworkAttemptResult.WRONG_PASSWORD, reason: 'The router refuses the password of Office.' }),
  })),
});

test('the page of a machine shows its network, what is tried next and why attempts failed', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const created = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: `press ${width}` });
    const { id = '' } = created.machine ?? {};
    const machine = await wireMachine(created.credentialsJson);
    await machine.check({});
    const page = await signIn();
    await page.goto(`${ready.url}/machines/${id}/configure`);
    await page.getByRole('link', { name: 'NETWORK' }).click();
    await page.getByRole('heading', { name: 'No network reported' }).waitFor();
    await checkPage(page, `no network, ${width} px`);

    const condition = {
      code: 'NETWORK_FALLBACK',
      severity: Severity.WARNING,
      message: 'The machine is online only by Barn.',
      remedy: 'Check the networks of higher priority.',
    };
    await machine.check({ network: network(), conditions: [condition] });
    const state = page.getByRole('region', { name: 'State of the network' });
    await state.getByText('lower priority', { exact: true }).waitFor();
    await state.getByText('5 min ago').waitFor();
    await state.getByText('press-setup').waitFor();
    await state.getByText(/Tries Office again\. *\((?:in 9|in 10) min/).waitFor();
    const rows = page.getByRole('region', { name: 'Configured networks' });
    await rows.getByText('stored, not seen any more').waitFor();
    await rows.getByText('Out of range', { exact: true }).waitFor();
    await rows.getByText('26 h ago').first().waitFor();
    await rows.getByText('this machine has no interface eth7').waitFor();
    assert.equal(await rows.getByText('no effect here').count(), 1);
    await rows.getByText('NETWORK_CERTIFICATE_UNUSABLE').waitFor();
    await rows.getByText('Not known', { exact: true }).waitFor();
    await rows.getByText('not measured').waitFor();
    assert.equal(await rows.getByRole('row').count(), 6);
    const links = page.getByRole('region', { name: 'Links' });
    await links.getByText('65 %').waitFor();
    await links.getByText('192.168.178.120/24').waitFor();
    await links.getByText('3 h ago').waitFor();
    await links.getByText('additional network barn-behind-the-gate, priority 5').waitFor();
    await links.getByText('no cable is plugged in').waitFor();
    const attempts = page.getByRole('region', { name: 'Last attempts' });
    await attempts.getByText('The router refuses the password of Office.').first().waitFor();
    assert.equal(await attempts.getByRole('row').count(), 11);
    await page.getByText('NETWORK_FALLBACK').waitFor();
    await checkPage(page, `network, ${width} px`);
  });
});
