import { create } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type AgentReport,
  type Condition,
  ConfigSlice,
  type ConfigSliceStatus,
  ConfigSliceStatusSchema,
  ConfigState,
  type ConfigStatus,
  ConfigStatusSchema,
  Severity,
  SliceState,
  type SliceStatus,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { reportValidMs } from '@platform/contract/machine/report-age';
import type { Online } from './online.ts';

/** The newest saved configuration of a part. Times in ms since 1970. */
export interface SavedConfig {
  readonly revision: number;
  readonly sha256: Uint8Array;
  readonly savedOn: number;
}

/** What the server knows of a machine at one time. */
export interface ConfigFacts {
  /** Undefined: none was saved. */
  readonly saved: SavedConfig | undefined;
  readonly online: Online;
  readonly isUninstalled: boolean;
  /** The machine received a configuration from this server after its last report. */
  readonly isAwaitingReport: boolean;
  readonly report: AgentReport | undefined;
  readonly reportedOn: number | undefined;
  /** Set for the agent of another product: the revision that it received last, 0: none. */
  readonly receivedByOther: number | undefined;
  readonly now: number;
}

type Status = Partial<Omit<ConfigStatus, '$typeName' | '$unknown'>>;

/** `actingSha256`: the content that every acting slice has in effect; the caller finds its number. */
export interface DerivedStatus {
  readonly status: ConfigStatus;
  readonly actingSha256: Uint8Array | undefined;
}

const expected = [
  ConfigSlice.SETTINGS,
  ConfigSlice.VERSIONS,
  ConfigSlice.NETWORK,
  ConfigSlice.SYSTEM,
  ConfigSlice.SERVER,
] as const;

/**
 * Whether the newest saved configuration is in effect. "In effect" needs a machine that is online, a report that is
 * newer than the save and than the last configuration that the machine received, and the saved content in every slice
 * that acts. Numbers of revisions are never compared for it: they come again after a restored backup.
 */
export function deriveConfigStatus(facts: ConfigFacts): DerivedStatus {
  const { saved, report } = facts;
  if (!saved)
    return {
      status: create(ConfigStatusSchema, { state: ConfigState.NONE_SAVED, isCurrent: true }),
      actingSha256: undefined,
    };
  const isCurrent = isMeasuredNow(facts);
  const about: Status = {
    savedRevision: BigInt(saved.revision),
    savedSha256: saved.sha256,
    savedOn: timestampFromMs(saved.savedOn),
    isCurrent,
    isReceived: isReceived(facts, saved),
    ...(facts.reportedOn !== undefined && report && { measuredOn: timestampFromMs(facts.reportedOn) }),
    ...(isCurrent && report && problemOf(report.conditions)),
  };
  const found = stateOf(facts, saved, isCurrent);
  const actingSha256 = report?.knowsContent ? actingContent(report.slices) : undefined;
  const slices = report && facts.receivedByOther === undefined ? shortfalls(report, saved) : [];
  return { status: create(ConfigStatusSchema, { ...about, ...found, slices }), actingSha256 };
}

function isMeasuredNow({ online, isUninstalled, isAwaitingReport, reportedOn, receivedByOther, now }: ConfigFacts) {
  if (online !== 'online' || isUninstalled) return false;
  if (receivedByOther !== undefined) return true;
  return reportedOn !== undefined && !isAwaitingReport && now - reportedOn <= reportValidMs;
}

/** Whether the last report is about the saved configuration. An older agent names the numbers that its slices have. */
function isReceived({ report, reportedOn, isAwaitingReport }: ConfigFacts, { revision, sha256, savedOn }: SavedConfig) {
  if (!report || reportedOn === undefined || reportedOn < savedOn || isAwaitingReport) return false;
  if (report.knowsContent) return isSame(report.receivedSha256, sha256);
  return [report, ...report.slices].some(({ appliedRevision }) => appliedRevision === BigInt(revision));
}

function stateOf(facts: ConfigFacts, saved: SavedConfig, isCurrent: boolean): Status {
  const { online, isUninstalled, isAwaitingReport, report, reportedOn, receivedByOther } = facts;
  if (online === 'awaiting setup') return unknown('its agent has not connected yet');
  if (isUninstalled || online === 'offline') {
    const reason = isUninstalled ? 'its agent was uninstalled' : 'the machine is offline';
    const isLater = reportedOn !== undefined && reportedOn >= saved.savedOn && !isAwaitingReport;
    const was = isLater && receivedByOther === undefined && isEffective(fromReport(report, saved).state);
    return { ...unknown(reason), wasInEffect: was };
  }
  if (receivedByOther !== undefined)
    return {
      state: ConfigState.NUMBER_ONLY,
      actingRevision: BigInt(receivedByOther),
      reason:
        receivedByOther === 0
          ? 'the agent of another product has received no configuration yet'
          : `the agent of another product has received revision ${receivedByOther}; it does not report what is in effect`,
    };
  if (!report || reportedOn === undefined) return applying('the machine has not reported yet');
  if (reportedOn < saved.savedOn) return applying('the machine has not reported since this was saved');
  if (isAwaitingReport) return applying('the machine has not reported since it received this');
  if (!isCurrent) return unknown('the machine is online, but its last report is too old');
  return fromReport(report, saved);
}

const unknown = (reason: string): Status => ({ state: ConfigState.UNKNOWN, reason });
const applying = (reason: string): Status => ({ state: ConfigState.APPLYING, reason });
const isEffective = (state: ConfigState | undefined): boolean =>
  state === ConfigState.IN_EFFECT || state === ConfigState.PARTLY_IN_EFFECT;

/** What a report says of the saved content, as if it were of now. */
function fromReport(report: AgentReport | undefined, saved: SavedConfig): Status {
  if (!report) return applying('the machine has not reported yet');
  const lagging = shortfalls(report, saved).filter(({ state }) => state === SliceState.LAGGING);
  const [first] = lagging.toSorted((a, b) => Number(b.code !== '') - Number(a.code !== ''));
  if (first) {
    const state = first.code === '' ? ConfigState.APPLYING : ConfigState.NOT_IN_EFFECT;
    return { state, reason: first.reason, ...(first.since && { since: first.since }) };
  }
  if (!report.knowsContent) return byNumber(report, saved);
  const missing = expected.filter((name) => !report.slices.some(({ slice }) => slice === name));
  if (missing.length > 0) return applying('not every part of the machine has reported yet');
  const isPartly = report.slices.some(
    ({ state, ineffectivePaths }) => state === SliceState.NOT_REPORTED || ineffectivePaths.length > 0,
  );
  const since = report.slices.flatMap((one) => (isActing(one) && one.since ? [one.since] : []));
  const latest = since.toSorted((a, b) => timestampMs(b) - timestampMs(a))[0];
  return {
    state: isPartly ? ConfigState.PARTLY_IN_EFFECT : ConfigState.IN_EFFECT,
    ...(latest && { since: latest }),
  };
}

/** An older agent knows the number only, which is never a proof of the content. */
function byNumber({ appliedRevision }: AgentReport, { revision }: SavedConfig): Status {
  const number = { actingRevision: appliedRevision };
  if (appliedRevision !== BigInt(revision))
    return { ...applying(`its agent is older and reports revision ${appliedRevision}`), ...number };
  return {
    state: ConfigState.NUMBER_ONLY,
    ...number,
    reason: `its agent is older: it reports revision ${revision} as applied, not its content`,
  };
}

const isActing = ({ state }: SliceStatus): boolean => state === SliceState.IN_EFFECT || state === SliceState.LAGGING;

/** Slices that do not have the saved content in effect, or not all of it. */
function shortfalls({ slices, knowsContent }: AgentReport, { sha256 }: SavedConfig): ConfigSliceStatus[] {
  return slices.flatMap(({ slice, state, since, code, reason, ineffectivePaths, configSha256, appliedRevision }) => {
    const shown = (as: SliceState, withCode: string, why: string) =>
      create(ConfigSliceStatusSchema, {
        slice,
        state: as,
        code: withCode,
        reason: why,
        ineffectivePaths,
        ...(since && { since }),
      });
    const isOther = state === SliceState.IN_EFFECT && knowsContent && !isSame(configSha256, sha256);
    if (isOther) {
      const why =
        configSha256.length === 0
          ? 'it does not report which content it has in effect'
          : `it has another configuration in effect${appliedRevision > 0n ? `, which it received as revision ${appliedRevision}` : ''}`;
      return [shown(SliceState.LAGGING, '', why)];
    }
    const isWhole = state === SliceState.IN_EFFECT || state === SliceState.NO_EFFECT;
    return isWhole && ineffectivePaths.length === 0 ? [] : [shown(state, code, reason)];
  });
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** The content that all acting slices have in effect; undefined: they differ, or one has none. */
function actingContent(slices: readonly SliceStatus[]): Uint8Array | undefined {
  const [first, ...others] = slices.filter(isActing).map(({ configSha256 }) => configSha256);
  if (!first || first.length === 0) return undefined;
  return others.every((one) => isSame(one, first)) ? first : undefined;
}

/** The gravest failure of an entry of the configuration or of the machine server, and how many there are. */
function problemOf(conditions: readonly Condition[]): Pick<Status, 'problem' | 'problemCount'> {
  const found = conditions.filter(isOfServer).toSorted((a, b) => b.severity - a.severity);
  const [problem] = found;
  return problem ? { problem, problemCount: found.length } : {};
}

const isOfServer = ({ severity, code, path }: Condition): boolean =>
  severity >= Severity.WARNING &&
  code !== 'NO_EFFECT_HERE' &&
  (code.startsWith('SERVER_') || (path !== '' && !/^(?:agent|maintenance_window)\b/.test(path)));
