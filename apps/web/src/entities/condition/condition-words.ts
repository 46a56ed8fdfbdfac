import type { ConditionCode } from '@platform/contract/conditions/conditions';
import {
  type Condition,
  ConditionAction,
  type ConditionGroup,
  ConditionSeverity,
  ConditionSubject,
} from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { formatGrouped } from '../../ui/quantities.ts';
import type { StatusLabel } from '../../ui/status-label.ts';
import { isolateText } from '../../ui/user-text.ts';

export const severityLabel = (severity: ConditionSeverity): StatusLabel =>
  severity === ConditionSeverity.ERROR
    ? { tone: 'bad', text: 'Error' }
    : severity === ConditionSeverity.WARNING
      ? { tone: 'warn', text: 'Warning' }
      : { tone: 'busy', text: 'Note' };

const ofMany: Readonly<Partial<Record<ConditionCode, (many: string) => string>>> = {
  MACHINE_OFFLINE: (many) => `${many} machines are offline`,
  MACHINE_NEVER_SEEN: (many) => `${many} machines have never checked in`,
  MACHINE_DISK_LOW: (many) => `The disks of ${many} machines fill up`,
  DISK_FULL: (many) => `The disks of ${many} machines are full`,
  CAMERA_FAILED: (many) => `${many} cameras fail`,
  SERVER_CRASHES: (many) => `The machine server crashes on ${many} machines`,
  VERSION_QUARANTINED: (many) => `A version failed on ${many} machines`,
  CLOCK_WRONG: (many) => `The clocks of ${many} machines are wrong`,
  JOB_FAILED: (many) => `${many} jobs failed`,
  JOB_WAITS: (many) => `Jobs of ${many} kinds find no runner`,
  RUNNER_AWAY: (many) => `${many} runners are away`,
};

/** "OUT_OF_FILES" as "Out of files". */
const codeWords = (code: string): string => {
  const words = code.toLowerCase().replaceAll('_', ' ');
  return (words.charAt(0).toUpperCase() + words.slice(1)).replace(/^Os /, 'OS ');
};

const subjectsOf: Readonly<Record<ConditionSubject, string>> = {
  [ConditionSubject.UNSPECIFIED]: 'places',
  [ConditionSubject.MACHINE]: 'machines',
  [ConditionSubject.JOB]: 'jobs',
  [ConditionSubject.RUNNER]: 'runners',
  [ConditionSubject.SERVER]: 'places of the server',
};

const own: Readonly<Partial<Record<ConditionCode, (name: string) => string>>> = {
  MACHINE_OFFLINE: (name) => `${name} is offline`,
  MACHINE_NEVER_SEEN: (name) => `${name} has never checked in`,
  MACHINE_DISK_LOW: (name) => `The disk of ${name} fills up`,
  DISK_FULL: (name) => `The disk of ${name} is full`,
  CAMERA_FAILED: (name) => `A camera of ${name} fails`,
  OS_REBOOT_NEEDED: (name) => `${name} needs a reboot`,
  RESTART_NEEDED: (name) => `The machine server of ${name} needs a restart`,
  AGENT_RESTART_NEEDED: (name) => `The agent of ${name} needs a restart`,
  SERVER_CRASHES: (name) => `The machine server of ${name} crashes`,
  VERSION_QUARANTINED: (name) => `A version failed on ${name}`,
  CLOCK_WRONG: (name) => `The clock of ${name} is wrong`,
  JOB_FAILED: (name) => `Training of ${name} failed`,
  JOB_WAITS: (name) => `${name} finds no runner`,
  RUNNER_AWAY: (name) => `Runner ${name} is away`,
  SERVER_DISK_LOW: () => 'The disk of the server fills up',
  SERVER_CHECK_FAILED: () => 'The server is not ready',
  BACKUP_OVERDUE: () => 'No good backup',
  BACKUP_NOT_SCHEDULED: () => 'No backups',
  CERTIFICATE_ENDS: () => 'The certificate ends soon',
  CERTIFICATE_PROBLEM: () => 'The certificate has a problem',
};

const known = <T>(table: Readonly<Record<string, T>>, code: string): T | undefined =>
  Object.hasOwn(table, code) ? table[code] : undefined;

/** One condition in a few words. */
export function conditionTitle({ code, subjectName, subject }: Condition): string {
  const name = isolateText(subjectName);
  const title = known(own, code)?.(name);
  if (title !== undefined) return title;
  return subject === ConditionSubject.SERVER ? codeWords(code) : `${codeWords(code)} on ${name}`;
}

/** Conditions of one kind in a few words, with an example of the cause. */
export function groupWords({ code, count, subject, examples }: ConditionGroup): { title: string; cause: string } {
  const [first] = examples;
  const message = isolateText(first?.message ?? '');
  if (count === 1 && first) return { title: conditionTitle(first), cause: message };
  const many = formatGrouped(count);
  const title = known(ofMany, code)?.(many) ?? `${codeWords(code)} on ${many} ${subjectsOf[subject]}`;
  const names = [...new Set(examples.map(({ subjectName }) => isolateText(subjectName)).filter((name) => name !== ''))];
  const listed = count > names.length ? `${names.join(', ')} and more` : names.join(', ');
  return { title, cause: `${listed === '' ? '' : `${listed}. `}${message}` };
}

/** Where a condition is dealt with, or what is ordered there. */
export type Remedy =
  | { readonly is: 'link'; readonly text: string; readonly to: string; readonly search?: { readonly path: string } }
  | { readonly is: 'order'; readonly text: string; readonly order: Order; readonly question: string };
export type Order = 'restart server' | 'restart agent' | 'reboot' | 'clear quarantine';

const orders: Readonly<Partial<Record<ConditionAction, readonly [text: string, Order, question: string]>>> = {
  [ConditionAction.RESTART_SERVER]: [
    'Restart server …',
    'restart server',
    'It stops and starts the machine server once.',
  ],
  [ConditionAction.RESTART_AGENT]: [
    'Restart agent …',
    'restart agent',
    'It stops the machine server, and starts as the installed version.',
  ],
  [ConditionAction.REBOOT]: ['Reboot …', 'reboot', 'The device starts again; everything on it stops.'],
  [ConditionAction.CLEAR_QUARANTINE]: [
    'Try again …',
    'clear quarantine',
    'It may try the versions again that failed on it.',
  ],
};

const tabs: Readonly<Partial<Record<ConditionAction, readonly [text: string, tab: string]>>> = {
  [ConditionAction.OPEN_MACHINE]: ['Open machine', ''],
  [ConditionAction.OPEN_LOGS]: ['Open LOGS', '/logs'],
  [ConditionAction.OPEN_CONFIGURATION]: ['Open CONFIGURE', '/configure'],
  [ConditionAction.OPEN_NETWORK]: ['Open NETWORK', '/network'],
  [ConditionAction.CONNECT_MACHINE]: ['Open CONNECT', '/connect'],
};

/** @returns undefined: a newer server knows more than this page. */
export function remedyOf({ action, subjectId, path }: Condition): Remedy | undefined {
  const order = orders[action];
  if (order) return { is: 'order', text: order[0], order: order[1], question: order[2] };
  const tab = tabs[action];
  const to = `/machines/${subjectId}${tab?.[1] ?? ''}`;
  // CONFIGURE opens at the field that fails.
  if (action === ConditionAction.OPEN_CONFIGURATION && path !== '')
    return { is: 'link', text: 'Open CONFIGURE', to, search: { path } };
  if (tab) return { is: 'link', text: tab[0], to };
  if (action === ConditionAction.OPEN_JOB) return { is: 'link', text: 'Open job', to: `/training/${subjectId}` };
  if (action === ConditionAction.OPEN_RUNNERS) return { is: 'link', text: 'Open runners', to: '/runners' };
  if (action === ConditionAction.OPEN_SETTINGS) return { is: 'link', text: 'Open settings', to: '/settings/server' };
  return undefined;
}

/** What is claimed of everything: only what was measured lately may be called well. */
export type Outcome = 'well' | 'notes' | 'attention' | 'unknown';

export function outcomeOf(of: {
  /** The server answers, and the answer is new. */
  isCurrent: boolean;
  isMeasured: boolean;
  isLate: boolean;
  errors: number;
  warnings: number;
  notes: number;
}): Outcome {
  if (of.errors + of.warnings > 0) return 'attention';
  if (!of.isCurrent || !of.isMeasured || of.isLate) return 'unknown';
  return of.notes > 0 ? 'notes' : 'well';
}

const hour = 3_600_000;
/** Ends of a mute that can be chosen; the server allows 90 days. */
export const muteSpans = [
  { value: '1', text: '1 hour', ms: hour },
  { value: '8', text: '8 hours', ms: 8 * hour },
  { value: '24', text: '1 day', ms: 24 * hour },
  { value: '168', text: '1 week', ms: 7 * 24 * hour },
  { value: '720', text: '30 days', ms: 30 * 24 * hour },
  { value: '2160', text: '90 days', ms: 90 * 24 * hour - 60_000 },
] as const;
