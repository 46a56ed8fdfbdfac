// The entries of a configuration with what the machine reports of each.
import type { Condition, Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
  ConfigSlice,
  ConfigState,
  OnlineState,
  ServerState,
  Severity,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { isReportPast } from '@platform/contract/machine/report-age';
import { lastWord } from '@platform/contract/machine-server/resources';
import type { StatusLabel } from '../../../ui/status-label.ts';
import { msOf } from '../../../ui/times.ts';

export interface ResourceRow {
  readonly name: string;
  /** Type and model: "camera · folder". */
  readonly kind: string;
  readonly isCamera: boolean;
  /** In the configuration, for example components[0]; of a failure its field. */
  readonly path: string;
  readonly state: StatusLabel;
  readonly since: number | undefined;
  /** In the words of the machine; empty: it reports no problem. */
  readonly problem: string;
}

const lists = ['components', 'services', 'modules'] as const;
const kindNames = { components: 'component', services: 'service', modules: 'module' };

interface Entry {
  readonly name: string;
  readonly kind: string;
  readonly isCamera: boolean;
  readonly path: string;
}

/** Those that fail first, else in the order of the configuration. @param config - with its fragments merged */
export function resourceRows(config: string, machine: Machine, isLost: boolean): ResourceRow[] {
  const rows = entriesOf(config).map((entry): ResourceRow => ({ ...entry, ...stateOf(entry, machine, isLost) }));
  const rank = ({ state: { tone } }: ResourceRow): number => (tone === 'bad' ? 0 : tone === 'warn' ? 1 : 2);
  return rows.toSorted((a, b) => rank(a) - rank(b));
}

function entriesOf(config: string): Entry[] {
  const read = parsed(config);
  return lists.flatMap((list) => {
    const entries: unknown = read[list];
    if (!Array.isArray(entries)) return [];
    return entries.map((entry: unknown, place): Entry => {
      const { name, type, api, model } = isObject(entry) ? entry : {};
      const words = [type ?? api, model].map((word) => (typeof word === 'string' ? lastWord(word) : ''));
      const path = `${list}[${place}]`;
      return {
        name: typeof name === 'string' && name !== '' ? name : path,
        kind: words.filter(Boolean).join(' · ') || kindNames[list],
        isCamera: words[0] === 'camera',
        path,
      };
    });
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {}; // Only texts that the server checked are saved.
  }
}

type State = Pick<ResourceRow, 'state' | 'since' | 'problem'> & { path?: string };
const quiet = (text: string, problem = ''): State => ({ state: { tone: 'quiet', text }, since: undefined, problem });

function stateOf({ path }: Entry, machine: Machine, isLost: boolean): State {
  const { report, configStatus: status } = machine;
  if (!report) return quiet('not reported');
  const found = worst(report.conditions.filter((one) => one.path === path || one.path.startsWith(`${path}.`)));
  if (isLost || machine.onlineState !== OnlineState.ONLINE || isReportPast(machine) || machine.sharedIdentity)
    return quiet('not known now', found ? `At the last report: ${found.message}` : '');
  // Paths of a report about another configuration may name another entry.
  if (status?.isReceived !== true) return quiet('not reported yet');
  if (found) {
    const isError = found.severity === Severity.ERROR;
    return {
      state: isError ? { tone: 'bad', text: 'fails' } : { tone: 'warn', text: 'warning' },
      since: msOf(found.since),
      problem: found.message,
      path: found.path,
    };
  }
  const slice = status.slices.find((one) => one.slice === ConfigSlice.SERVER);
  if (slice && slice.ineffectivePaths.length === 0) return quiet('not reported', slice.reason);
  if (report.serverState !== ServerState.RUNNING) return quiet('does not run');
  const isApplied = status.state === ConfigState.IN_EFFECT || status.state === ConfigState.PARTLY_IN_EFFECT;
  if (!isApplied) return quiet('not in effect yet');
  return { state: { tone: 'good', text: 'no problem' }, since: msOf(status.since), problem: '' };
}

const worst = (conditions: readonly Condition[]): Condition | undefined =>
  conditions.filter(({ severity }) => severity >= Severity.WARNING).toSorted((a, b) => b.severity - a.severity)[0];
