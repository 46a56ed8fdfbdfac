// Filters of the list of machines: they compare the last reports, on the server, page by page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AgentReportSchema, BootReason, FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { factFields } from '@platform/contract/machine/fields';
import { reportFacts } from '../src/machines/rules/report-facts.ts';
import { failure } from './failure.ts';
import { testServer } from './server.ts';

const hostInfo = { platform: 'linux/arm64', tags: ['platform-agent'] };
type Report = MessageInitShape<typeof AgentReportSchema>;
const reports: Readonly<Record<string, Report | undefined>> = {
  pi: {
    platform: 'linux/arm64',
    os: 'debian:12',
    agent: { runningVersion: '1.4.0' },
    facts: {
      model: 'Raspberry Pi 4 Model B Rev 1.4',
      architecture: 'aarch64',
      distribution: 'Debian GNU/Linux 12 (bookworm)',
      disk: { sizeBytes: 32_000_000_000n, freeBytes: 1_500_000_000n, wearPercent: 80 },
      temperatureCelsius: 0,
      bootReason: BootReason.POWER_LOST,
    },
    system: { rebootNeeded: true, waitingCount: 3 },
  },
  pc: {
    platform: 'linux/amd64',
    facts: { architecture: 'x86_64', disk: { sizeBytes: 1_000_000_000_000n, freeBytes: 500_000_000_000n } },
    system: {},
  },
  'reports nothing': {},
  'was never seen': undefined,
};
const expectations: readonly (readonly [filters: readonly string[], names: readonly string[]])[] = [
  [[], ['pc', 'pi', 'reports nothing', 'was never seen']],
  [['architecture=AARCH64'], ['pi']],
  [['architecture!=aarch64'], ['pc']],
  [['model~raspberry pi 4'], ['pi']],
  [['model~%'], []],
  [['model~\\'], []],
  [["model~'; drop table part; --"], []],
  [['disk_free<2GB'], ['pi']],
  [['disk_free>=1500000000', 'disk_free<=1.5GB'], ['pi']],
  [['disk_free_percent<10'], ['pi']],
  [['wear_percent>=80'], ['pi']],
  [['temperature=0'], ['pi']],
  [['boot_reason=power-lost'], ['pi']],
  [['reboot_needed'], ['pi']],
  [['reboot_needed=false'], ['pc']],
  [['upgrades_waiting>0'], ['pi']],
  [
    ['name~p', 'disk_size>1GB'],
    ['pc', 'pi'],
  ],
  [['name=PC'], ['pc']],
  [['agent_version=1.4.0', 'platform=linux/arm64', 'os~debian'], ['pi']],
  [['serial=1'], []],
];

test('the list of machines is filtered by what they report; what they do not report matches nothing', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  for (const [name, report] of Object.entries(reports)) {
    const { partId, part } = await on.machine(name);
    if (!report) continue;
    const agent = await on.client(AgentDeviceService, part);
    await agent.deviceAgentConfig({ id: partId, hostInfo, report });
  }
  const named = async (filters: readonly string[], pageSize = 0): Promise<string[]> => {
    const names: string[] = [];
    for (let pageToken = ''; ;) {
      const page = await fleet.listMachines({ organizationId: on.orgId, filters: [...filters], pageSize, pageToken });
      names.push(...page.machines.map(({ name }) => name));
      pageToken = page.nextPageToken;
      if (pageToken === '') return names;
    }
  };
  for (const [filters, names] of expectations) assert.deepEqual(await named(filters), names, filters.join(', '));
  assert.deepEqual(await named(['name~p'], 1), ['pc', 'pi', 'reports nothing']);
  for (const [filter, code] of [
    ['arch=x', 'InvalidArgument FILTER_FIELD_UNKNOWN'],
    ['disk_free<much', 'InvalidArgument FILTER_NOT_VALID'],
  ] as const)
    assert.equal(await failure(named([filter])), code);
  assert.equal(
    await failure(named(Array.from({ length: 11 }, () => 'reboot_needed'))),
    'InvalidArgument INVALID_ARGUMENT',
  );
});

test('what a hostile machine reports can be stored, and every field of a filter is reported', () => {
  const hostile = create(AgentReportSchema, {
    facts: {
      model: 'x\0y'.repeat(1_000),
      temperatureCelsius: Number.NaN,
      disk: { sizeBytes: 0n, freeBytes: 2n ** 64n - 1n },
    },
  });
  const facts = reportFacts(hostile);
  assert.doesNotMatch(JSON.stringify(facts), /\\u0000|null|NaN/);
  assert.equal(String(facts['model']).length, 500);
  assert.equal(facts['disk_free_percent'], undefined);
  const whole = create(AgentReportSchema, {
    platform: 'p',
    os: 'o',
    hostname: 'h',
    agent: { runningVersion: '1' },
    server: { runningVersion: '1' },
    conditions: [{ code: 'DISK_FULL', message: 'd' }],
    facts: {
      model: 'm',
      serial: 's',
      architecture: 'a',
      distribution: 'd',
      kernel: 'k',
      memoryBytes: 1n,
      disk: { sizeBytes: 1n, freeBytes: 1n, wearPercent: 0 },
      temperatureCelsius: 0,
      bootReason: BootReason.ORDERED,
    },
    system: {},
  });
  assert.deepEqual(['name', ...Object.keys(reportFacts(whole))].toSorted(), Object.keys(factFields).toSorted());
});
