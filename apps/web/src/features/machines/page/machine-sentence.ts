// What is true of a machine in one sentence, made from what something measured, with the time of it.
import type { Condition, ConfigStatus, Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
  ConfigState,
  OnlineState,
  OrderKind,
  OrderState,
  ServerState,
  Severity,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { isReportPast } from '@platform/contract/machine/report-age';
import { actorName } from '../../../entities/machine/actors.ts';
import { isOnTrial, programView } from '../../../entities/machine/program-status.ts';
import type { ProgramView } from '../../../entities/machine/program-status.ts';
import type { Tone } from '../../../ui/status-label.ts';
import { earlierTime, msOf } from '../../../ui/times.ts';
import { isolateText } from '../../../ui/user-text.ts';

/** Text of ours; a time, ms since 1970; or what a machine or a user wrote. */
export type Word = string | { readonly at: number } | { readonly quoted: string };

export interface Sentence {
  tone: Tone;
  head: readonly Word[];
  /** What to do, or what was known last; empty: nothing more. */
  detail: readonly Word[];
  /** The condition that the sentence is about. */
  about?: Condition;
}

interface Clause {
  tone: Tone;
  words: readonly Word[];
  detail?: readonly Word[];
  about?: Condition;
}

/** As plain text, for titles and tests. */
export const sentenceText = (words: readonly Word[], now: number): string =>
  words
    .map((word) =>
      typeof word === 'string' ? word : 'at' in word ? earlierTime(word.at, now) : isolateText(word.quoted),
    )
    .join('');

/** @param lostSince - since when the server has not answered, ms since 1970; undefined: it answers. */
export function machineSentence(machine: Machine, lostSince: number | undefined): Sentence {
  if (lostSince !== undefined)
    return {
      tone: 'quiet',
      head: ['Not known now: the server has not answered since ', { at: lostSince }, '.'],
      detail: lastKnown(machine),
    };
  const absent = absentSentence(machine);
  if (absent) return absent;
  const config = configClause(machine.configStatus);
  const fault = faultClause(machine);
  return {
    tone: worseTone(config.tone, fault.tone),
    head: [...config.words, '. ', ...fault.words, '.'],
    detail: fault.detail ?? [],
    ...(fault.about && { about: fault.about }),
  };
}

const ranks: readonly Tone[] = ['good', 'quiet', 'off', 'busy', 'warn', 'bad'];
const worseTone = (a: Tone, b: Tone): Tone => (ranks.indexOf(a) > ranks.indexOf(b) ? a : b);
const sinceWords = (at: number | undefined): Word[] => (at === undefined ? [] : [' since ', { at }]);
const atWords = (at: number | undefined): Word[] => (at === undefined ? [] : [' at ', { at }]);
/** A sentence of a machine inside one of ours. */
const clauseOf = (text: string): Word => ({ quoted: text.trim().replace(/\.$/, '') });

/** Where nothing is known of now: not set up, gone, shared, offline, or without a report. */
function absentSentence(machine: Machine): Sentence | undefined {
  const { onlineState, uninstalledOn, sharedIdentity, report, reportedOn, lastSeen } = machine;
  if (uninstalledOn)
    return {
      tone: 'quiet',
      head: ['Uninstalled: its agent reported its removal', ...atWords(msOf(uninstalledOn)), '.'],
      detail: lastKnown(machine),
    };
  if (onlineState === OnlineState.AWAITING_SETUP)
    return {
      tone: 'quiet',
      head: ['Awaits its set-up: no agent has connected with its credentials yet.'],
      detail: waitingRevision(machine.configStatus),
    };
  if (sharedIdentity)
    return {
      tone: 'bad',
      head: [
        `${sharedIdentity.runs.length} computers use the credentials of this machine`,
        ...sinceWords(msOf(sharedIdentity.since)),
        '.',
      ],
      detail: ['What is shown is of the one that came first.'],
    };
  if (onlineState === OnlineState.OFFLINE)
    return {
      tone: 'off',
      head: ['Offline', ...sinceWords(msOf(lastSeen)), '.', ...goneForOrder(machine)],
      detail: lastKnown(machine),
    };
  if (onlineState !== OnlineState.ONLINE)
    return { tone: 'quiet', head: ['It is not known whether this machine is online.'], detail: lastKnown(machine) };
  if (!report) return { tone: 'busy', head: ['Online, and has not reported yet.'], detail: [] };
  if (!isReportPast(machine)) return undefined;
  return {
    tone: 'warn',
    head: ['Online, but no report has arrived', ...sinceWords(msOf(reportedOn)), '.'],
    detail: lastKnown(machine),
  };
}

const waitingRevision = (status: ConfigStatus | undefined): Word[] =>
  status && status.savedRevision > 0n ? [`Revision ${status.savedRevision} waits for it.`] : [];

/** A reboot that an operator ordered explains why it is away. */
function goneForOrder({ orders }: Machine): Word[] {
  const order = orders.find(({ kind, state }) => kind === OrderKind.REBOOT && state === OrderState.BEGUN);
  return order
    ? [' It has not come back from the reboot that was ordered', ...atWords(msOf(order.requestedOn)), '.']
    : [];
}

/** In the past tense: what held when the machine was heard last. */
function lastKnown({ configStatus, report, conditions }: Machine): Word[] {
  if (!report) return ['It has never reported.'];
  const ran = revisionThatRan(configStatus);
  const worst = worstOf([...report.conditions, ...conditions]);
  const words: Word[] = [ran === undefined ? 'Which revision it ran is not known' : `It ran revision ${ran}`];
  if (worst) words.push(', and reported: ', clauseOf(worst.message));
  return [...words, '.'];
}

function revisionThatRan(status: ConfigStatus | undefined): bigint | undefined {
  if (!status) return undefined;
  const { state, wasInEffect, savedRevision, actingRevision } = status;
  const isIt = state === ConfigState.IN_EFFECT || state === ConfigState.PARTLY_IN_EFFECT || wasInEffect;
  if (isIt) return savedRevision;
  return actingRevision > 0n && state !== ConfigState.NUMBER_ONLY ? actingRevision : undefined;
}

function configClause(status: ConfigStatus | undefined): Clause {
  const since = sinceWords(msOf(status?.since));
  const saved = status?.savedRevision ?? 0n;
  const acting = status && status.isCurrent && status.actingRevision > 0n ? status.actingRevision : undefined;
  const runs = acting === undefined || acting === saved ? '' : `Runs revision ${acting}. `;
  const reason: Word = { quoted: status?.reason ?? '' };
  switch (status?.state) {
    case ConfigState.NONE_SAVED:
      return { tone: 'good', words: ['Runs with its defaults: no configuration is saved'] };
    case ConfigState.IN_EFFECT:
      return { tone: 'good', words: [`Runs revision ${saved}`, ...since] };
    case ConfigState.PARTLY_IN_EFFECT:
      return { tone: 'warn', words: [`Runs revision ${saved} in part`, ...since] };
    case ConfigState.APPLYING:
      return {
        tone: 'busy',
        words: [
          `${runs}Revision ${saved}, saved`,
          ...atWords(msOf(status.savedOn)),
          ', is not in effect yet: ',
          reason,
        ],
      };
    case ConfigState.NOT_IN_EFFECT:
      return { tone: 'bad', words: [`${runs}Revision ${saved} is not in effect`, ...since, ': ', reason] };
    case ConfigState.NUMBER_ONLY:
      return { tone: 'quiet', words: [`Whether revision ${saved} is in effect is not confirmed: `, reason] };
    default:
      return { tone: 'quiet', words: ['Which revision is in effect is not known'] };
  }
}

/** The worst that is true now beside the configuration. */
function faultClause(machine: Machine): Clause {
  const all = [...(machine.report?.conditions ?? []), ...machine.conditions];
  const found = [
    orderClause(machine),
    conditionClause(all, Severity.ERROR),
    serverClause(machine),
    trialClause(machine),
    conditionClause(all, Severity.WARNING),
    restartClause(machine),
  ];
  return found.find((clause) => clause !== undefined) ?? noFault(machine);
}

/** The agent of another product reports its versions only: that it names no problem says nothing. */
const noFault = ({ hasOtherAgent }: Machine): Clause =>
  hasOtherAgent
    ? { tone: 'quiet', words: ['The agent of another product runs it, and reports only its versions'] }
    : { tone: 'good', words: ['It reports no problem'] };

const orderWords: Readonly<Record<number, string>> = {
  [OrderKind.REBOOT]: 'The device reboots',
  [OrderKind.RESTART_AGENT]: 'The agent restarts',
  [OrderKind.RESTART_SERVER]: 'The machine server restarts',
};

function orderClause({ orders, restartRequestedOn }: Machine): Clause | undefined {
  const begun = orders.find(({ state }) => state === OrderState.BEGUN);
  if (begun)
    return {
      tone: 'busy',
      words: [
        orderWords[begun.kind] ?? 'An order is carried out',
        ...sinceWords(msOf(begun.since)),
        ', ordered by ',
        { quoted: actorName(begun.requestedBy) },
      ],
    };
  if (!restartRequestedOn) return undefined;
  return {
    tone: 'busy',
    words: ['A restart of its machine server was requested', ...atWords(msOf(restartRequestedOn))],
  };
}

const worstOf = (all: readonly Condition[]): Condition | undefined =>
  all.filter(({ severity }) => severity >= Severity.WARNING).toSorted((a, b) => b.severity - a.severity)[0];

function conditionClause(all: readonly Condition[], severity: Severity): Clause | undefined {
  const found = all.filter((one) => one.severity === severity);
  const [first] = found.toSorted((a, b) => (msOf(a.since) ?? Infinity) - (msOf(b.since) ?? Infinity));
  if (!first) return undefined;
  const since = msOf(first.since);
  const more = found.length - 1;
  return {
    tone: severity === Severity.ERROR ? 'bad' : 'warn',
    words: [
      clauseOf(first.message),
      ...(since === undefined ? [] : [', since ', { at: since }]),
      ...(more === 0 ? [] : [`; and ${more} more`]),
    ],
    detail: first.remedy === '' ? [] : [{ quoted: first.remedy }],
    about: first,
  };
}

function serverClause({ report, hasOtherAgent }: Machine): Clause | undefined {
  if (!report || hasOtherAgent) return undefined;
  const exit = report.server?.lastExit;
  switch (report.serverState) {
    case ServerState.STARTING:
      return { tone: 'busy', words: ['Its machine server starts'] };
    case ServerState.STOPPING:
      return { tone: 'busy', words: ['Its machine server stops'] };
    case ServerState.WAITING: {
      const reason = exit?.reason ?? report.lastExit;
      const ended: Word[] = reason === '' ? [] : [': it ended with ', { quoted: reason }];
      return { tone: 'bad', words: ['Its machine server does not run', ...sinceWords(msOf(exit?.since)), ...ended] };
    }
    case ServerState.STOPPED:
      return { tone: 'warn', words: ['Its machine server does not run'] };
    case ServerState.DISABLED:
      return { tone: 'warn', words: ['Its machine server is disabled by the configuration'] };
    default:
      return undefined;
  }
}

const programsOf = ({ report, reportedOn }: Machine): (readonly [name: string, program: ProgramView])[] => [
  ['agent', programView(report?.agent, msOf(reportedOn))],
  ['machine server', programView(report?.server, msOf(reportedOn))],
];

function trialClause(machine: Machine): Clause | undefined {
  const found = programsOf(machine).find(([, program]) => isOnTrial(program));
  const trial = found?.[1].trial;
  if (!found || !trial) return undefined;
  return {
    tone: 'busy',
    words: [
      `Its ${found[0]} `,
      { quoted: trial.version },
      ` is on trial`,
      ...sinceWords(trial.since),
      ` (start ${trial.starts} of 3)`,
    ],
  };
}

function restartClause(machine: Machine): Clause | undefined {
  const found = programsOf(machine).find(([, program]) => program.isRestartNeeded || program.isUpdateWaiting);
  if (!found) return undefined;
  const [name, program] = found;
  const detail: Word[] = program.why === '' ? [] : [{ quoted: program.why }];
  if (program.isRestartNeeded)
    return { tone: 'warn', words: [`Its ${name} needs a restart to run `, { quoted: program.installed }], detail };
  return { tone: 'busy', words: [`Its ${name} does not have version `, { quoted: program.desired }, ' yet'], detail };
}
