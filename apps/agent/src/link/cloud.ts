import { isConditionError } from '@platform/contract/conditions/conditions';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, type CallOptions, type Transport } from '@connectrpc/connect';
import {
  AgentDeviceService,
  type DeviceAgentConfigRequestSchema,
  type DeviceAgentConfigResponse,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import {
  RobotService,
  type LogRequestSchema,
  type NeedsRestartResponse,
} from '@platform/contract/gen/platform/app/v1/robot_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import type { MachineCredentials } from '@platform/contract/machine-server/machine-server';
import { PlatformError } from '@platform/contract/errors/errors';
import { Cell, errorText, TimeoutError, within, type Clock } from '@platform/kit';
import { linkProblemIn } from './link.ts';
import { clearCondition, setErrorCondition, type ConditionSet } from '../health/condition-set.ts';
import { linkCodes } from '../health/link-codes.ts';

const deadlineMs = 15_000;
/** The runtime's own list is longer, but a management server sends no other encoding. */
const acceptEncoding = { 'accept-encoding': 'gzip' };

/** The calls that a machine makes. Each throws a ConnectError or a TimeoutError. */
export interface Cloud {
  readonly partId: string;
  /** `waitMs`: how long the request asks the server to hold a long poll. */
  deviceAgentConfig(
    request: MessageInitShape<typeof DeviceAgentConfigRequestSchema>,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<DeviceAgentConfigResponse>;
  needsRestart(signal: AbortSignal): Promise<NeedsRestartResponse>;
  log(request: MessageInitShape<typeof LogRequestSchema>, signal: AbortSignal): Promise<void>;
}

/** What follows from the calls. */
interface LinkObservers {
  /** Set after each call: whether the server answered, if only with an error of its own. */
  isReached: Cell<boolean>;
  /** Receives the condition of the connection, until the server answers again. */
  conditions?: ConditionSet;
  /** Called with whether the server refuses this machine; a failed connection does not change that. */
  refused?: (isRefused: boolean) => void;
  /** Identifies this run of the agent, 16 bytes; left out: the caller is a command. */
  runId?: Uint8Array | undefined;
  /** Receives what the management server sends to this run alone. */
  personal?: PersonalOrders | undefined;
}

/** What follows when this computer shares its credentials with another one. */
interface PersonalOrders {
  /** This computer becomes a machine of its own by this set-up code. */
  split(code: string): void;
  /** The server stores the report of another computer: send this one's again. */
  sendReport(): void;
}

/** Makes calls with the token of this machine. */
export function connectCloud(
  transport: Transport,
  credentials: MachineCredentials,
  clock: Clock,
  { isReached, conditions = new Cell([]), refused = () => {}, runId, personal }: LinkObservers,
): Cloud {
  const { appAddress: address } = credentials;
  const agent = createClient(AgentDeviceService, transport);
  const robot = createClient(RobotService, transport);
  const tokens = tokensOf(transport, credentials, clock);
  const setProblem = (problem: PlatformError | undefined): void => setLinkCondition(conditions, problem, clock);

  const call = async <T>(
    what: string,
    ms: number,
    signal: AbortSignal,
    f: (options: CallOptions) => Promise<T>,
  ): Promise<T> => {
    try {
      const answer = await withToken(tokens, signal, (token) =>
        within(ms, { what, clock, signal }, (inner) =>
          f({ signal: inner, headers: { authorization: `Bearer ${token}`, ...acceptEncoding } }),
        ),
      );
      isReached.set(true);
      refused(false);
      setProblem(undefined);
      return answer;
    } catch (error) {
      if (signal.aborted) throw error;
      isReached.set(isAnswer(error));
      if (isRefused(error)) refused(true);
      const explained = isAnswer(error) ? error : withProblem(error, address);
      setProblem(
        isRefused(error) ? new PlatformError('CLOUD_REFUSES_MACHINE', { address }, error) : linkProblemIn(explained),
      );
      throw explained;
    }
  };

  return {
    partId: credentials.partId,
    async deviceAgentConfig(request, waitMs, signal) {
      const sent = { ...request, ...(runId && { runId }) };
      const ms = deadlineMs + waitMs;
      const answer = await call('DeviceAgentConfig', ms, signal, (o) => agent.deviceAgentConfig(sent, o));
      return withoutOrders(answer, personal);
    },
    needsRestart: (signal) =>
      call('NeedsRestart', deadlineMs, signal, (o) => robot.needsRestart({ id: credentials.partId }, o)),
    log: async (request, signal) => {
      await call('Log', deadlineMs, signal, (o) => robot.log(request, o));
    },
  };
}

/** Tokens for the credentials, each kept while it is valid. */
function tokensOf(transport: Transport, { entity, type, payload }: MachineCredentials, clock: Clock) {
  const auth = createClient(AuthService, transport);
  return tokenCache(async () => {
    const request = { entity, credentials: { type, payload } };
    const answer = await within(deadlineMs, { what: 'Authenticate', clock }, (signal) =>
      auth.authenticate(request, { signal }),
    );
    return answer.accessToken;
  });
}

/** Passes on what is meant for this run alone: the answer is stored, and copies of it must not hold that. */
function withoutOrders(answer: DeviceAgentConfigResponse, personal: PersonalOrders | undefined) {
  const { setUpCode, sendReport } = answer;
  if (setUpCode !== '') personal?.split(setUpCode);
  if (sendReport) personal?.sendReport();
  return Object.assign(answer, { setUpCode: '', sendReport: false });
}

/** Makes the problem the condition of the connection; undefined: the server answered. Only an answer ends a refusal. */
function setLinkCondition(conditions: ConditionSet, problem: PlatformError | undefined, clock: Clock): void {
  for (const code of linkCodes) {
    const isStillRefused = code === 'CLOUD_REFUSES_MACHINE' && problem !== undefined;
    if (code !== problem?.code && !isStillRefused) clearCondition(conditions, code);
  }
  if (!problem) return;
  if (isConditionError(problem)) setErrorCondition(conditions, problem, { sinceWall: clock.wall() });
}

/** Returns the error with its connection problem as a cause. */
function withProblem(error: unknown, address: string): unknown {
  if (linkProblemIn(error)) return error;
  if (error instanceof TimeoutError) {
    const problem = `nothing whole came within ${Math.round(error.ms / 1000)} s`;
    return new PlatformError('CLOUD_SILENT', { address, problem }, error);
  }
  const problem = errorText(error).slice(0, 200);
  if (error instanceof ConnectError && error.code === Code.Unavailable) {
    return new PlatformError('CLOUD_UNREACHABLE', { address, problem }, error);
  }
  return new PlatformError('CLOUD_NOT_RECOGNIZED', { address, problem }, error);
}

/** The error comes from the management server itself, not from the network. */
function isAnswer(error: unknown): boolean {
  if (!(error instanceof ConnectError) || error.rawMessage.startsWith('parse binary')) return false;
  return ![Code.Unavailable, Code.Unknown, Code.DeadlineExceeded, Code.Canceled].includes(error.code);
}

/** The server does not know this machine (any more), or its secret was replaced. */
export const isRefused = (error: unknown): boolean =>
  error instanceof ConnectError && [Code.Unauthenticated, Code.PermissionDenied, Code.NotFound].includes(error.code);

/** The token of this machine, shared by all callers. */
interface TokenCache {
  /** The token, fetched if there is none. A failed fetch rejects the current callers; later ones fetch again. */
  current(): Promise<string>;
  /** Forgets this token: the server no longer accepts it. */
  discard(used: Promise<string>): void;
}

/** @param fetchToken - has no signal of a caller: aborting the first caller must not fail the others. */
function tokenCache(fetchToken: () => Promise<string>): TokenCache {
  let token: Promise<string> | undefined;
  const discard = (used: Promise<string>): void => {
    if (token === used) token = undefined;
  };
  return {
    current() {
      if (token === undefined) {
        const fetched = fetchToken();
        token = fetched;
        fetched.catch(() => discard(fetched));
      }
      return token;
    },
    discard,
  };
}

/** Makes a call with the token, and once more with a new one if the server no longer accepts it. */
async function withToken<T>(tokens: TokenCache, signal: AbortSignal, call: (token: string) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const used = tokens.current();
    const token = await unlessAborted(used, signal);
    try {
      return await call(token);
    } catch (error) {
      const isStale = error instanceof ConnectError && error.code === Code.Unauthenticated;
      if (isStale) tokens.discard(used);
      if (!isStale || attempt > 1) throw error;
    }
  }
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
