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

/** The status of an answer that is not one of the server's calls, for example of a proxy. */
const httpStatus = (e: ConnectError): string | undefined => /^HTTP (\d{3})$/.exec(e.rawMessage.trim())?.[1];

/** The server itself answered: neither the network nor a proxy in front of it failed. */
export function hasServerAnswer(e: unknown): boolean {
  const error = ConnectError.from(e);
  if (error.findDetails(ErrorInfoSchema).length > 0) return true;
  return ![Code.Unavailable, Code.Unknown, Code.Canceled, Code.DeadlineExceeded].includes(error.code);
}

export function failureOf(e: unknown): Failure {
  const error = ConnectError.from(e);
  const code = looksOffline(error) ? Code.Unavailable : error.code;
  const details = error.findDetails(ErrorInfoSchema)[0];
  const problems = error.findDetails(ConfigProblemsSchema)[0]?.problems ?? [];
  const status = details === undefined && code === Code.Unknown ? httpStatus(error) : undefined;
  if (status !== undefined)
    return {
      code: `HTTP_${status}`,
      what: `The server, or a proxy in front of it, failed with HTTP status ${status}.`,
      remedy: 'Try again in a moment. If it stays, look into the log of the server, and of the proxy if there is one.',
      facts: {},
      problems,
    };
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

/** The server answered that the requested thing does not exist. */
export const isMissing = (e: unknown): boolean => e !== null && ConnectError.from(e).code === Code.NotFound;

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
