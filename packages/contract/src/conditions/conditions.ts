import { sentence, type ErrorCode, type PlatformError } from '../errors/errors.ts';
import { conditionSubjects, conditionTable } from './condition-table.ts';
import type { ConditionRow } from './condition-row.ts';
import type { Severity } from './severity.ts';

export { conditionSubjects, conditionTable };
export type { ConditionRow };

type Table = typeof conditionTable;

/** Code of a row of the table of conditions. */
export type ConditionCode = keyof Table;

type Texts<C extends ConditionCode> = `${Table[C]['message']} ${Table[C]['remedy']}`;
type Names<T extends string> = T extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
/** Names outside of brackets. */
type Needed<T extends string> = T extends `${infer Before}[${string}]${infer Rest}`
  ? Names<Before> | Needed<Rest>
  : Names<T>;

/** A value for each placeholder of the row; those in brackets may be missing. It must not contain secrets. */
export type ConditionData<C extends ConditionCode> = {
  readonly [Name in Needed<Texts<C>>]: string | number;
} & { readonly [Name in Exclude<Names<Texts<C>>, Needed<Texts<C>>>]?: string | number | undefined };

/** The severities that the row of a code allows. */
export type SeverityOf<C extends ConditionCode> = Table[C]['severity'] extends readonly (infer S extends Severity)[]
  ? S
  : Extract<Table[C]['severity'], Severity>;

/** A condition in words. */
export interface ConditionTexts {
  code: ConditionCode;
  severity: Severity;
  message: string;
  remedy: string;
}

const defaultSeverity = ({ severity }: ConditionRow): Severity =>
  typeof severity === 'string' ? severity : severity[0];

/**
 * The condition of a row, filled with data.
 *
 * @example conditionOf('SERVER_DISK_LOW', { free: '1.2 GB', size: '80 GB' })
 */
export function conditionOf<C extends ConditionCode>(
  code: C,
  data: ConditionData<C>,
  severity: Severity & SeverityOf<C> = defaultSeverity(conditionTable[code]) as Severity & SeverityOf<C>,
): ConditionTexts {
  const row: ConditionRow = conditionTable[code];
  const values = Object.fromEntries(Object.entries<string | number | undefined>(data).filter(isGiven));
  return { code, severity, message: sentence(row.message, values), remedy: sentence(row.remedy, values) };
}

const isGiven = (entry: [string, string | number | undefined]): entry is [string, string | number] =>
  entry[1] !== undefined;

export const isConditionCode = (text: string): text is ConditionCode => Object.hasOwn(conditionTable, text);

/** The severity of what another program reports under this code: that of its row, or an error. */
export const severityOf = (code: string): Severity =>
  isConditionCode(code) ? defaultSeverity(conditionTable[code]) : 'error';

/** An error that is also a condition; its texts are those of the error. */
export const errorCondition = ({
  code,
  what,
  remedy,
}: PlatformError & { readonly code: ConditionCode }): ConditionTexts => ({
  code,
  severity: severityOf(code),
  message: what,
  remedy,
});

/** Whether an error has the code of a condition. */
export const isConditionError = (
  error: PlatformError,
): error is PlatformError & { readonly code: ErrorCode & ConditionCode } => isConditionCode(error.code);
