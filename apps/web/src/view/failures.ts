import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorInfoSchema } from '@platform/contract/gen/google/rpc/error_details_pb';
import { ConfigProblemsSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Problem } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';

/** A failed call, as the page shows it. */
export interface Failure {
  /** Row of the error table, or the RPC code in capitals. */
  code: string;
  what: string;
  remedy: string;
  /** More facts of the error, by name. */
  facts: Readonly<Record<string, string>>;
  /** For INVALID_CONFIG: every problem by path. */
  problems: readonly Problem[];
}

const unknownRemedies: Partial<Record<Code, string>> = {
  [Code.Unavailable]: 'Check that the server runs and that this page can reach it; it is tried again by itself.',
  [Code.DeadlineExceeded]: 'The server took too long: try again in a moment.',
  [Code.Unauthenticated]: 'Sign in again with a new link.',
  [Code.PermissionDenied]: 'Ask an owner of the organization for the right.',
  [Code.Unimplemented]: 'The server is older than this page: reload the page, or update the server.',
};

/** The message of a rejected fetch differs by browser and does not help the user. */
const looksOffline = (e: ConnectError): boolean =>
  e.code === Code.Unknown && /fetch|network|load failed/i.test(e.rawMessage);

export function failureOf(e: unknown): Failure {
  const error = ConnectError.from(e);
  const code = looksOffline(error) ? Code.Unavailable : error.code;
  const details = error.findDetails(ErrorInfoSchema)[0];
  const problems = error.findDetails(ConfigProblemsSchema)[0]?.problems ?? [];
  const fallback = unknownRemedies[code] ?? 'Try again. If it stays, look into the log of the server.';
  if (details === undefined) {
    const what = code === Code.Unavailable ? 'The server does not answer.' : sentenceOf(error.rawMessage);
    return { code: nameOf(code), what, remedy: fallback, facts: {}, problems };
  }
  const { remedy, what, ...facts } = details.metadata;
  return {
    code: details.reason,
    what: what ?? sentenceOf(error.rawMessage),
    remedy: remedy ?? fallback,
    facts,
    problems,
  };
}

export const isSignedOut = (e: unknown): boolean => e !== null && ConnectError.from(e).code === Code.Unauthenticated;

const lasting: ReadonlySet<Code> = new Set([
  Code.NotFound,
  Code.PermissionDenied,
  Code.InvalidArgument,
  Code.Unauthenticated,
  Code.Unimplemented,
]);

/** The same call would fail in the same way again. */
export const isLasting = (e: unknown): boolean => e !== null && lasting.has(ConnectError.from(e).code);

const nameOf = (code: Code): string => (Code[code] ?? 'Unknown').replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();

function sentenceOf(message: string): string {
  const text = message.trim();
  if (text === '') return 'The server gave no reason.';
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
