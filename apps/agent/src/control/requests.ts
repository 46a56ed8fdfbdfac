import { PlatformError } from '@platform/contract/errors/errors';
import type { AgentStatus, ControlAnswer } from '@platform/contract/machine/agent-status';
import { programNames, type Program } from '../versions/layout.ts';
import type { Done, Operator } from '../versions/operator.ts';

/** One request on the control socket, independent of HTTP. */
export interface ControlRequest {
  method: string;
  path: string;
  /** Parsed JSON; undefined: no body. */
  body: unknown;
}
export type ControlReply = AgentStatus | ControlAnswer | { is_healthy: boolean };

export interface Controlled {
  status(): AgentStatus;
  operator(): Operator;
  /** Reads the credentials file now. @returns whether other credentials are in use */
  reloadCredentials(): Promise<boolean>;
  /** Starts provisioning; false: this agent does not manage the networks of its machine. */
  provision(): boolean;
  /** Replies before the agent ends; false: no supervisor would restart it. */
  handOver(): boolean;
}

type Route = (body: Record<string, unknown>, controlled: Controlled) => Promise<ControlReply>;

const asked = async (work: Promise<Done>): Promise<ControlReply> => {
  const { isChanged, did } = await work;
  return { is_changed: isChanged, did };
};

const routes: Readonly<Record<string, Route>> = {
  'GET /status': async (_, { status }) => status(),
  'GET /health': async () => ({ is_healthy: true }),
  'POST /update': (body, { operator }) => (only(body, []), asked(operator().checkNow())),
  'POST /rollback': (body, { operator }) => (only(body, ['program']), asked(operator().rollback(programOf(body)))),
  'POST /pin': (body, { operator }) => (
    only(body, ['program', 'desired']),
    asked(operator().pin(programOf(body), desiredOf(body)))
  ),
  'POST /credentials': async (body, { reloadCredentials }) => {
    only(body, []);
    const isChanged = await reloadCredentials();
    const did = isChanged
      ? 'The running agent uses the credentials now.'
      : 'The running agent uses the same credentials.';
    return { is_changed: isChanged, did };
  },
  'POST /provision': async (body, { provision }) => {
    only(body, []);
    const isDone = provision();
    const did = isDone
      ? 'The hotspot starts. It ends after retry_connection_timeout_minutes without a user.'
      : 'This agent does not manage the networks of its machine: it runs without systemd or without root.';
    return { is_changed: isDone, did };
  },
  'POST /handover': async (body, { handOver }) => {
    only(body, []);
    const isDone = handOver();
    const did = isDone
      ? 'This agent ends, the version in use takes over.'
      : 'There is no supervisor that would start an agent again.';
    return { is_changed: isDone, did };
  },
  'POST /clear': (body, { operator }) => (only(body, ['program']), asked(operator().clearQuarantine(programOf(body)))),
};

/** @throws PlatformError for a request that is invalid or cannot be met */
export function answer({ method, path, body }: ControlRequest, controlled: Controlled): Promise<ControlReply> {
  const route = routes[`${method} ${path}`];
  if (!route) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'path',
      value: `${method} ${path}`.slice(0, 100),
      limit: `there are ${Object.keys(routes).join(', ')}`,
    });
  }
  if (body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body))) {
    throw new PlatformError('INVALID_ARGUMENT', { field: 'body', limit: 'it must be one JSON object' });
  }
  return route((body ?? {}) as Record<string, unknown>, controlled);
}

function only(body: Record<string, unknown>, known: readonly string[]): void {
  const unknown = Object.keys(body).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    const limit = known.length === 0 ? 'no member is expected' : `there are ${known.join(', ')}`;
    throw new PlatformError('INVALID_ARGUMENT', { field: unknown.slice(0, 100), limit });
  }
}

function programOf({ program }: Record<string, unknown>): Program {
  const found = programNames.find((name) => name === program);
  if (!found)
    throw new PlatformError('INVALID_ARGUMENT', { field: 'program', limit: `it is ${programNames.join(' or ')}` });
  return found;
}

const desiredLimit = 500;

function desiredOf({ desired }: Record<string, unknown>): string | null {
  if (desired === null) return null;
  if (typeof desired === 'string' && desired !== '' && desired.length <= desiredLimit) return desired;
  throw new PlatformError('INVALID_ARGUMENT', {
    field: 'desired',
    limit: `it is a version of 1 to ${desiredLimit} letters, or null for no pin`,
  });
}
