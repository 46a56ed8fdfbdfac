// What became of each configured network and of the settings of a radio, on a machine with one cable and no WiFi.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ConfigSlice,
  type Machine,
  type NetworkRow,
  NetworkRowState,
  SliceState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { networkRowStates } from '@platform/contract/machine/network-states';
import { build } from '../lab/builds.ts';
import { installed, telling } from '../lab/installed.ts';
import { container } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';

const wifi = { type: 'wifi', psk: 'barn12345' };
const wanted = {
  network_configuration: {
    hotspot_interface: 'wlan9',
    hotspot_password: 'barn12345',
    wifi_country: 'DE',
    wifi_power_save: true,
    turn_on_hotspot_if_wifi_has_no_internet: true,
  },
  additional_networks: {
    barn: { ...wifi, ssid: 'Barn', interface: 'wlan9' },
    roof: { ...wifi, ssid: 'Roof' },
    press: { type: 'wired', interface: 'eth7' },
    lan: { type: 'wired', interface: 'eth0', priority: -5 },
  },
};

const rowsOf = ({ report }: Machine): Record<string, NetworkRow> =>
  Object.fromEntries((report?.network?.networks ?? []).map((row) => [row.name, row]));
const sliceOf = ({ report }: Machine) => report?.slices.find(({ slice }) => slice === ConfigSlice.NETWORK);
const nameOf = (state: NetworkRowState): string =>
  Object.entries(networkRowStates).find(([, { wire }]) => wire === state)?.[0] ?? '';
const textOf = (row: NetworkRow | undefined): string =>
  row ? `${nameOf(row.state)}${row.hasNoEffect ? ', no effect' : ''}: ${row.text}` : 'no row';

test('a machine with a cable and no WiFi says what became of each network', { timeout: 1_800_000 }, async (t) => {
  await using site = await startSite();
  for (const program of ['platform-agent', 'platform-server'] as const)
    await site.publish(await build(program, '0.1.0'), 'stable');
  await using machine = await container(site.port);
  const { partId } = await telling(machine, () => installed(site, machine, 'press'));
  const until = (what: string, isSo: (machine: Machine) => boolean) => site.until(partId, what, 180, isSo);

  await telling(machine, async () => {
    await t.test('rows, and fields without effect with their reason', async () => {
      const { seconds, value } = await timed(async () => {
        await site.configure(partId, wanted);
        return until('a row for each network', (now) => {
          const isApplied = sliceOf(now)?.state === SliceState.IN_EFFECT && sliceOf(now)?.appliedRevision === 1n;
          return isApplied && rowsOf(now)['lan']?.state === NetworkRowState.WAITING;
        });
      });
      const rows = rowsOf(value);
      assert.deepEqual(Object.keys(rows).toSorted(), ['barn', 'lan', 'press', 'roof']);
      const none = 'no-radio, no effect: this machine has no WiFi radio';
      assert.equal(textOf(rows['barn']), none);
      assert.equal(textOf(rows['roof']), none);
      assert.equal(textOf(rows['press']), 'no-interface, no effect: this machine has no interface eth7');
      assert.match(textOf(rows['lan']), /^waiting: eth0 uses .+, of lower priority \(-999\)$/);
      for (const row of Object.values(rows)) {
        assert.equal(row.path, `agent.additional_networks.${row.name}`);
        assert.ok(row.measured && row.since, `${row.name} has no time`);
      }
      const settings = value.report?.network?.settings ?? [];
      assert.deepEqual(
        settings.map((row) => [row.path.split('.').at(-1), textOf(row)]),
        ['hotspot_interface', 'wifi_country', 'wifi_power_save'].map((key) => [key, none]),
      );
      const ineffective = [
        ...Object.keys(wanted.network_configuration).map((key) => `agent.network_configuration.${key}`),
        ...['barn', 'roof', 'press'].map((name) => `agent.additional_networks.${name}`),
      ];
      assert.deepEqual(sliceOf(value)?.ineffectivePaths.toSorted(), ineffective.toSorted());
      const reported = value.report?.conditions.filter(({ code }) => code === 'NO_EFFECT_HERE') ?? [];
      for (const path of ineffective)
        assert.ok(
          reported.some(({ message }) => message.includes(path)),
          path,
        );
      assert.ok(
        reported.some(({ message }) => message.endsWith('no effect here, because this machine has no WiFi radio.')),
      );
      await keep(
        'networks on a machine without WiFi: saved, until each has its row',
        'container',
        seconds,
        Object.values(rows)
          .map((row) => `${row.name} ${nameOf(row.state)}`)
          .join(', '),
      );
    });

    await t.test('the command lines say the same', async () => {
      const status = await machine.must('/opt/platform/bin/platform-agent status');
      const shown = await site.cli('machine', 'show', partId);
      for (const text of [status, shown]) {
        const words = text.replaceAll(/\s+/g, ' ');
        assert.match(words, /partly in effect/);
        assert.match(words, /press: no such interface.*no effect here.*this machine has no interface eth7/);
        assert.match(words, /wifi_country: no WiFi radio.*no effect here/);
      }
    });

    await t.test('an interface that comes is used, and one that was there is waited for', async () => {
      await machine.must('ip link add eth7 type veth peer name eth7p && ip link set eth7 up && ip link set eth7p up');
      await until('eth7 is there', (now) => {
        const row = rowsOf(now)['press'];
        return row !== undefined && row.state !== NetworkRowState.NO_INTERFACE && !row.hasNoEffect;
      });
      await machine.must('ip link del eth7');
      const gone = await until('eth7 is gone', (now) => rowsOf(now)['press']?.state === NetworkRowState.NO_INTERFACE);
      assert.equal(
        textOf(rowsOf(gone)['press']),
        'no-interface: this machine has no interface eth7 now; it is used when the interface is back',
      );
      assert.ok(!sliceOf(gone)?.ineffectivePaths.includes('agent.additional_networks.press'));
    });

    await t.test('what was there is remembered over a restart of the agent', async () => {
      await machine.must('systemctl restart platform-agent');
      const again = await until('the rows are measured again', (now) => {
        const row = rowsOf(now)['press'];
        return (
          row?.state === NetworkRowState.NO_INTERFACE &&
          !row.hasNoEffect &&
          sliceOf(now)?.state === SliceState.IN_EFFECT
        );
      });
      assert.ok(!sliceOf(again)?.ineffectivePaths.includes('agent.additional_networks.press'));
    });
  });
});
