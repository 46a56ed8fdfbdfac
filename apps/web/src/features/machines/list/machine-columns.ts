// The columns of the list of machines: which there are, which are shown, and how a machine fills them.
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { SortKey } from '@platform/contract/machine/sort';
import { bytes } from '../../../ui/quantities.ts';

interface Column {
  readonly key: SortKey;
  readonly text: string;
  /** Width: a share of the room, beside those of the other columns. */
  readonly share: number;
  readonly isNumber?: boolean;
}

export const machineColumns: readonly Column[] = [
  { key: 'name', text: 'Name', share: 17 },
  { key: 'state', text: 'State', share: 21 },
  { key: 'condition', text: 'Condition', share: 24 },
  { key: 'tag', text: 'Tags', share: 13 },
  { key: 'location', text: 'Location', share: 12 },
  { key: 'host', text: 'Host', share: 12 },
  { key: 'platform', text: 'Platform', share: 10 },
  { key: 'os', text: 'System', share: 10 },
  { key: 'model', text: 'Model', share: 14 },
  { key: 'kernel', text: 'Kernel', share: 12 },
  { key: 'disk_free', text: 'Disk free', share: 9, isNumber: true },
  { key: 'memory', text: 'Memory', share: 9, isNumber: true },
  { key: 'temperature', text: 'Temperature', share: 11, isNumber: true },
  { key: 'agent', text: 'Agent', share: 8, isNumber: true },
  { key: 'server', text: 'Server', share: 10, isNumber: true },
  { key: 'revision', text: 'Revision', share: 10, isNumber: true },
  { key: 'seen', text: 'Last seen', share: 15, isNumber: true },
];
const usual: readonly SortKey[] = ['name', 'state', 'condition', 'tag', 'location', 'server', 'revision', 'seen'];

/** The columns that a text of the URL names; the name of the machine is always one. Empty: the usual ones. */
export function shownColumns(text: string): readonly Column[] {
  const named = text.split(',');
  const chosen = machineColumns.filter(({ key }) => (text === '' ? usual : ['name', ...named]).includes(key));
  return chosen.length > 1 ? chosen : machineColumns.filter(({ key }) => usual.includes(key));
}

/** The text of the URL after a column was added or removed. */
export function toggledColumn(text: string, key: SortKey): string {
  const shown = shownColumns(text).map((column) => column.key);
  const next = shown.includes(key) ? shown.filter((one) => one !== key) : [...shown, key];
  const keys = machineColumns.map((column) => column.key).filter((one) => next.includes(one));
  return keys.join() === usual.join() ? '' : keys.join();
}

/** What a machine reports in the columns that show it as it is; empty: not reported. */
export function reportedText({ report, locationName, tags }: Machine, key: SortKey): string {
  const facts = report?.facts;
  switch (key) {
    case 'location':
      return locationName;
    case 'tag':
      return tags.join(' ');
    case 'host':
      return report?.hostname ?? '';
    case 'platform':
      return report?.platform ?? '';
    case 'os':
      return report?.os ?? '';
    case 'model':
      return facts?.model ?? '';
    case 'kernel':
      return facts?.kernel ?? '';
    case 'disk_free':
      return facts?.disk ? bytes(facts.disk.freeBytes) : '';
    case 'agent':
      return report?.agent?.runningVersion ?? '';
    case 'server':
      return report?.server?.runningVersion ?? '';
    case 'memory':
      return facts?.memoryBytes === undefined ? '' : bytes(facts.memoryBytes);
    case 'temperature':
      return facts?.temperatureCelsius === undefined ? '' : `${facts.temperatureCelsius.toFixed(1)} °C`;
    default:
      return '';
  }
}
