// Whether the saved configuration is in effect: only a current report of the saved content says so.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  AgentReportSchema,
  ConfigSlice,
  ConfigState,
  ConfigStateSchema,
  Severity,
  SliceState,
  type SliceStatusSchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { reportValidMs } from '@platform/contract/machine/report-age';
import { type ConfigFacts, deriveConfigStatus, type SavedConfig } from './config-status.ts';

type Slice = MessageInitShape<typeof SliceStatusSchema>;

const minuteMs = 60_000;
const now = 100 * minuteMs;
const content = (text: string): Uint8Array => Buffer.from(text.padEnd(32));
const saved: SavedConfig = { revision: 5, sha256: content('five'), savedOn: now - 10 * minuteMs };
const names = [ConfigSlice.SETTINGS, ConfigSlice.VERSIONS, ConfigSlice.NETWORK, ConfigSlice.SYSTEM, ConfigSlice.SERVER];

/** A report in which every slice has a content in effect, but for `changes` of single slices. */
const reported = (of: string, number: bigint, changes: Partial<Record<ConfigSlice, Slice>> = {}, more: object = {}) =>
  create(AgentReportSchema, {
    knowsContent: true,
    appliedRevision: number,
    slices: names.map((slice) => ({
      slice,
      state: SliceState.IN_EFFECT,
      configSha256: content(of),
      appliedRevision: number,
      since: timestampFromMs(now - 9 * minuteMs),
      ...changes[slice],
    })),
    ...more,
  });

const older = (appliedRevision: bigint, state: SliceState = SliceState.IN_EFFECT) =>
  create(AgentReportSchema, {
    appliedRevision,
    slices: names.map((slice) => ({ slice, state, appliedRevision, reason: 'why', code: 'CODE' })),
  });

const facts: ConfigFacts = {
  saved,
  online: 'online',
  isUninstalled: false,
  isAwaitingReport: false,
  report: reported('five', 5n),
  reportedOn: now - 9 * minuteMs,
  receivedByOther: undefined,
  now,
};
const lagging = (reason: string, code = ''): Slice => ({
  state: SliceState.LAGGING,
  configSha256: new Uint8Array(),
  appliedRevision: 0n,
  reason,
  code,
});
const noEffect: Slice = { state: SliceState.NO_EFFECT, configSha256: new Uint8Array(), appliedRevision: 0n };
const notReported: Slice = { ...noEffect, state: SliceState.NOT_REPORTED, reason: 'it does not report' };

const { NONE_SAVED, IN_EFFECT, PARTLY_IN_EFFECT, APPLYING, NOT_IN_EFFECT, NUMBER_ONLY, UNKNOWN } = ConfigState;
const rows: [name: string, change: Partial<ConfigFacts>, state: ConfigState, reason: RegExp | ''][] = [
  ['nothing was saved', { saved: undefined }, NONE_SAVED, ''],
  ['every slice reports the saved content', {}, IN_EFFECT, ''],
  ['never seen', { online: 'awaiting setup', report: undefined, reportedOn: undefined }, UNKNOWN, /not connected yet/],
  ['online without a report', { report: undefined, reportedOn: undefined }, APPLYING, /not reported yet/],
  [
    'offline, with a higher number than the server has: a restored backup',
    { online: 'offline', saved: { ...saved, revision: 1, sha256: content('one') }, report: reported('two', 2n) },
    UNKNOWN,
    /offline/,
  ],
  ['offline after it was in effect', { online: 'offline' }, UNKNOWN, /offline/],
  ['uninstalled', { online: 'offline', isUninstalled: true }, UNKNOWN, /uninstalled/],
  [
    'saved after the report',
    { saved: { ...saved, savedOn: now - minuteMs } },
    APPLYING,
    /not reported since this was saved/,
  ],
  [
    'the same content saved again after the report',
    { saved: { ...saved, revision: 6, savedOn: now - minuteMs } },
    APPLYING,
    /not reported since this was saved/,
  ],
  [
    'the same content saved again, and reported since',
    { saved: { ...saved, revision: 6 }, report: reported('five', 6n) },
    IN_EFFECT,
    '',
  ],
  ['a configuration was sent after the report', { isAwaitingReport: true }, APPLYING, /since it received this/],
  [
    'the number comes again with another content after a restored backup',
    { report: reported('the lost five', 5n) },
    APPLYING,
    /another configuration in effect, which it received as revision 5/,
  ],
  [
    'a higher number than the newest',
    { report: reported('the lost nine', 9n) },
    APPLYING,
    /another configuration in effect, which it received as revision 9/,
  ],
  [
    'one slice still has the earlier content',
    { report: reported('five', 5n, { [ConfigSlice.SERVER]: { configSha256: content('four'), appliedRevision: 4n } }) },
    APPLYING,
    /revision 4/,
  ],
  [
    'the disk of the machine was put back to yesterday',
    { report: reported('four', 4n) },
    APPLYING,
    /another configuration in effect/,
  ],
  [
    'in effect, but without its content',
    { report: reported('five', 5n, { [ConfigSlice.SERVER]: { configSha256: new Uint8Array() } }) },
    APPLYING,
    /does not report which content/,
  ],
  [
    'a slice lags without a failure',
    { report: reported('five', 5n, { [ConfigSlice.VERSIONS]: lagging('2.0.0 is being downloaded') }) },
    APPLYING,
    /being downloaded/,
  ],
  [
    'a slice failed, and another is at it',
    {
      report: reported('five', 5n, {
        [ConfigSlice.SETTINGS]: lagging('applying'),
        [ConfigSlice.SERVER]: lagging('it runs no webcam', 'RESOURCE_UNKNOWN'),
      }),
    },
    NOT_IN_EFFECT,
    /no webcam/,
  ],
  [
    'slices that do not act are left out',
    { report: reported('five', 5n, { [ConfigSlice.NETWORK]: noEffect, [ConfigSlice.SYSTEM]: noEffect }) },
    IN_EFFECT,
    '',
  ],
  [
    'a machine server that does not report',
    { report: reported('five', 5n, { [ConfigSlice.SERVER]: notReported }) },
    PARTLY_IN_EFFECT,
    '',
  ],
  [
    'a field without effect here',
    { report: reported('five', 5n, { [ConfigSlice.SYSTEM]: { ...noEffect, ineffectivePaths: ['agent.x'] } }) },
    PARTLY_IN_EFFECT,
    '',
  ],
  [
    'a slice is missing in the report',
    { report: create(AgentReportSchema, { ...reported('five', 5n), slices: reported('five', 5n).slices.slice(0, 4) }) },
    APPLYING,
    /not every part/,
  ],
  [
    'the last report is too old',
    { reportedOn: now - reportValidMs - 1, saved: { ...saved, savedOn: 0 } },
    UNKNOWN,
    /too old/,
  ],
  ['an older agent with this number', { report: older(5n) }, NUMBER_ONLY, /older: it reports revision 5/],
  ['an older agent with a higher number', { report: older(9n) }, APPLYING, /older and reports revision 9/],
  ['an older agent with a lower number', { report: older(4n) }, APPLYING, /older and reports revision 4/],
  ['an older agent that lags', { report: older(4n, SliceState.LAGGING) }, NOT_IN_EFFECT, /why/],
  ['an older agent, offline', { report: older(5n), online: 'offline' }, UNKNOWN, /offline/],
  [
    'an older agent, saved after its report',
    { report: older(5n), saved: { ...saved, savedOn: now - minuteMs } },
    APPLYING,
    /not reported since/,
  ],
  [
    'an agent without slices',
    { report: create(AgentReportSchema, { appliedRevision: 5n }) },
    NUMBER_ONLY,
    /not its content/,
  ],
  [
    'the agent of another product',
    { receivedByOther: 5, report: undefined, reportedOn: undefined },
    NUMBER_ONLY,
    /another product has received revision 5/,
  ],
  [
    'the agent of another product, offline',
    { receivedByOther: 5, report: undefined, reportedOn: undefined, online: 'offline' },
    UNKNOWN,
    /offline/,
  ],
];

const stateName = (state: ConfigState): string => ConfigStateSchema.value[state]?.name ?? String(state);

for (const [name, change, state, reason] of rows)
  test(`configuration status: ${name}`, () => {
    const { status } = deriveConfigStatus({ ...facts, ...change });
    assert.equal(stateName(status.state), stateName(state));
    if (reason === '') assert.equal(status.reason, '');
    else assert.match(status.reason, reason);
    if (state === IN_EFFECT || state === PARTLY_IN_EFFECT) assert.equal(status.isCurrent, true);
    if (state === UNKNOWN) assert.equal(status.isCurrent, false);
  });

test('an offline machine claims nothing, but names what its last report had', () => {
  const last = (change: Partial<ConfigFacts>) => deriveConfigStatus({ ...facts, online: 'offline', ...change }).status;
  assert.equal(last({}).wasInEffect, true);
  assert.equal(timestampMs(last({}).measuredOn!), facts.reportedOn);
  assert.equal(last({ report: reported('four', 4n) }).wasInEffect, false);
  assert.equal(last({ saved: { ...saved, savedOn: now } }).wasInEffect, false);
  assert.equal(last({ isAwaitingReport: true }).wasInEffect, false);
  assert.equal(last({ report: older(5n) }).wasInEffect, false);
});

test('the content that runs is named only if every acting slice has it', () => {
  const acting = (report: ConfigFacts['report']) => deriveConfigStatus({ ...facts, report }).actingSha256;
  const four = reported('four', 4n, { [ConfigSlice.NETWORK]: noEffect });
  assert.deepEqual(Buffer.from(acting(four) ?? []), content('four'));
  assert.equal(acting(reported('four', 4n, { [ConfigSlice.VERSIONS]: lagging('an older agent runs') })), undefined);
  assert.equal(acting(reported('four', 4n, { [ConfigSlice.SERVER]: { configSha256: content('five') } })), undefined);
  assert.equal(acting(older(4n)), undefined);
});

test('failures of entries and of the machine server stand beside "in effect" while the report is current', () => {
  const condition = (code: string, path: string, severity: Severity = Severity.WARNING) => ({ code, path, severity });
  const conditions = [
    condition('NO_EFFECT_HERE', 'agent.system_configuration.x'),
    condition('NO_EFFECT_HERE', 'components[1]'),
    condition('CLOCK_WRONG', ''),
    condition('RESTART_NEEDED', 'agent.advanced_settings.platform_server_env', Severity.NOTE),
    condition('CAMERA_FAILED', 'components[0]'),
    condition('SERVER_CRASHES', '', Severity.ERROR),
  ];
  const of = (change: Partial<ConfigFacts>) =>
    deriveConfigStatus({ ...facts, report: reported('five', 5n, {}, { conditions }), ...change }).status;
  assert.deepEqual([of({}).state, of({}).problem?.code, of({}).problemCount], [IN_EFFECT, 'SERVER_CRASHES', 2]);
  assert.equal(of({ online: 'offline' }).problem, undefined, 'a failure of yesterday is not one of now');
});

test('since: in effect since the last slice has it, not in effect since the slice lags', () => {
  const at = (minutes: number) => timestampFromMs(now - minutes * minuteMs);
  const of = (changes: Partial<Record<ConfigSlice, Slice>>) =>
    deriveConfigStatus({ ...facts, report: reported('five', 5n, changes) }).status.since;
  assert.deepEqual(of({ [ConfigSlice.SERVER]: { since: at(3) } }), at(3));
  assert.deepEqual(of({ [ConfigSlice.SERVER]: { ...lagging('why', 'A'), since: at(20) } }), at(20));
});
