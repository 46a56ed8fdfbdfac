import {
  conditionOf,
  type ConditionCode,
  type ConditionData,
  type SeverityOf,
} from '@platform/contract/conditions/conditions';
import { type Severity, severityRank } from '@platform/contract/conditions/severity';

/** As in platform.conditions.v1.ConditionSeverity. */
export type SeverityNumber = (typeof severityRank)[Severity];

export type SubjectKind = 'machine' | 'job' | 'runner' | 'server';

/** What distinguishes a condition from the others while it is open. */
export interface ConditionKey {
  /** Null: of the installation. */
  readonly orgId: string | null;
  readonly subject: SubjectKind;
  /** Empty: the server. */
  readonly subjectId: string;
  readonly code: string;
  /** Distinguishes several of one code at one subject apart. */
  readonly place: string;
}

/** A condition as it was measured. */
export interface FoundCondition extends ConditionKey {
  readonly subjectName: string;
  readonly machineId: string | null;
  readonly severity: SeverityNumber;
  readonly message: string;
  readonly remedy: string;
  /** ms since 1970; undefined: the source does not know, so it began now. */
  readonly since: number | undefined;
}

export const keyOf = ({ orgId, subject, subjectId, code, place }: ConditionKey): string =>
  JSON.stringify([orgId, subject, subjectId, code, place]);

/** Characters; the key of an open condition must fit into a row of an index. */
const longestCode = 100;
const longestPlace = 500;
const longestText = 1_000;

/** In whole characters: the database takes no half ones. */
export const cutText = (text: string, longest: number): string => text.slice(0, longest).toWellFormed();
export const cutCode = (text: string): string => cutText(text, longestCode);
export const cutPlace = (text: string): string => cutText(text, longestPlace);

/** As it can be stored: what machines, runners and files say is as long as they like. */
export const storable = (one: FoundCondition): FoundCondition => ({
  ...one,
  code: cutCode(one.code),
  place: cutPlace(one.place),
  subjectName: cutText(one.subjectName, longestText),
  message: cutText(one.message, longestText),
  remedy: cutText(one.remedy, longestText),
});

/** A condition that the server finds by itself. */
export function ownCondition<C extends ConditionCode>(
  of: Omit<FoundCondition, 'code' | 'place' | 'severity' | 'message' | 'remedy'> & { readonly place?: string },
  code: C,
  data: ConditionData<C>,
  chosen?: Severity & SeverityOf<C>,
): FoundCondition {
  const { severity, ...texts } = conditionOf(code, data, chosen);
  return { place: '', ...of, ...texts, severity: severityRank[severity] };
}

/** GB with one decimal below 10, as in the web app. */
export function gigabytes(bytes: number): string {
  const gb = bytes / 1e9;
  return `${gb < 10 ? gb.toFixed(1) : Math.round(gb)} GB`;
}
