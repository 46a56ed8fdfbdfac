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
import type { MachineCredentials } from '@platform/contract/machine';
import { PlatformError } from '@platform/contract/errors';
import { Cell, errorText, TimeoutError, within, type Clock } from '@platform/kit';
import { linkCodes, linkProblemIn } from './link.ts';
import { clearTrouble, setTrouble, type Troubles } from '../health/troubles.ts';

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

/**
 * Makes calls with a token. It is fetched when needed, and again when the server no longer accepts it.
 *
 * @param isReached - set after each call: whether the server answered, if only with an error of its own.
 * @param troubles - receives the condition of the connection; it is cleared when the server answers again.
 */
export function connectCloud(
  transport: Transport,
  credentials: MachineCredentials,
  clock: Clock,
  isReached: Cell<boolean>,
  troubles: Troubles = new Cell([]),
): Cloud {
  const address = credentials.appAddress;
  const tellProblem = (problem: PlatformError | undefined): void => {
    for (const code of linkCodes) if (code !== problem?.code) clearTrouble(troubles, code);
    if (!problem) return;
    const { code, what, remedy } = problem;
    const severity = code === 'CLOUD_REFUSES_MACHINE' ? 'error' : 'warning';
    setTrouble(troubles, { code, severity, message: what, remedy, sinceWall: clock.wall() });
  };
  const auth = createClient(AuthService, transport);
  const agent = createClient(AgentDeviceService, transport);
  const robot = createClient(RobotService, transport);
  let token: Promise<string> | undefined;

  const fetchToken = async (): Promise<string> => {
    const { entity, type, payload } = credentials;
    const request = { entity, credentials: { type, payload } };
    return (
      await within(deadlineMs, { what: 'Authenticate', clock }, (signal) => auth.authenticate(request, { signal }))
    ).accessToken;
  };
  /** Shared by all callers: aborting the first caller must not fail the others. */
  const currentToken = (): Promise<string> => {
    if (token === undefined) {
      const fetched = fetchToken();
      token = fetched;
      fetched.catch(() => {
        if (token === fetched) token = undefined;
      });
    }
    return token;
  };

  const call = async <T>(
    what: string,
    ms: number,
    signal: AbortSignal,
    f: (options: CallOptions) => Promise<T>,
  ): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        const used = currentToken();
        const bearer = await unlessAborted(used, signal);
        try {
          const answer = await within(ms, { what, clock, signal }, (inner) =>
            f({ signal: inner, headers: { authorization: `Bearer ${bearer}`, ...acceptEncoding } }),
          );
          isReached.set(true);
          tellProblem(undefined);
          return answer;
        } catch (error) {
          const isStale = error instanceof ConnectError && error.code === Code.Unauthenticated;
          if (isStale && token === used) token = undefined;
          if (!isStale || attempt > 1) throw error;
        }
      } catch (error) {
        if (signal.aborted) throw error;
        isReached.set(isAnswer(error));
        const told = isAnswer(error) ? error : withProblem(error, address);
        tellProblem(
          isRefused(error) ? new PlatformError('CLOUD_REFUSES_MACHINE', { address }, error) : linkProblemIn(told),
        );
        throw told;
      }
    }
  };

  return {
    partId: credentials.partId,
    deviceAgentConfig: (request, waitMs, signal) =>
      call('DeviceAgentConfig', deadlineMs + waitMs, signal, (o) => agent.deviceAgentConfig(request, o)),
    needsRestart: (signal) =>
      call('NeedsRestart', deadlineMs, signal, (o) => robot.needsRestart({ id: credentials.partId }, o)),
    log: async (request, signal) => {
      await call('Log', deadlineMs, signal, (o) => robot.log(request, o));
    },
  };
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
