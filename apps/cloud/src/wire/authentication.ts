import type { ContextValues, HandlerContext } from '@connectrpc/connect';
import type { Log } from '@platform/kit';
import { PlatformError } from '@platform/contract/errors/errors';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import type { Authenticator } from '../access/authenticate.ts';
import { setCaller } from '../access/caller.ts';
import { announcedBytes, type CallerBudgets } from '../access/caller-budgets.ts';
import type { Caller } from '../access/rules/permissions.ts';
import { mayCall } from '../access/rules/scopes.ts';
import { publicError, toConnectError } from './errors.ts';

/**
 * Before a page of another site can send these headers, the browser sends a CORS preflight. Our response to it allows
 * no cookies. So a cookie counts only together with one of them, and only from our own origin.
 */
function maySendCookie(headers: Headers): boolean {
  const isRpc =
    headers.has('connect-protocol-version') || (headers.get('content-type') ?? '').startsWith('application/grpc-web');
  return isRpc && isSameOrigin(headers.get('origin'), headers.get('host'));
}

export function isSameOrigin(origin: string | null | undefined, host: string | null | undefined): boolean {
  if (!origin) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}

/**
 * Authenticates each call except Authenticate by its headers and charges its caller's budget, before reading the body.
 *
 * @param onProven - called with the ID of the authenticated caller.
 */
export const identityGate =
  (
    authenticator: Authenticator,
    log: Log,
    onProven: (values: ContextValues, callerId: string) => void,
    budgets?: Pick<CallerBudgets, 'admit'>,
    requestId?: () => string | undefined,
  ) =>
  async ({ service, method, requestHeader, values }: HandlerContext): Promise<void> => {
    if (service.typeName === AuthService.typeName) return;
    const call = `${service.typeName}/${method.name}`;
    try {
      const caller = await callerFrom(authenticator, requestHeader);
      onProven(values, caller.id);
      if (!mayCall(caller, call)) throw new PlatformError('PERMISSION_DENIED', { resource: call });
      budgets?.admit(caller, call, announcedBytes(requestHeader.get('content-length')));
      setCaller(values, caller);
    } catch (error) {
      throw toConnectError(publicError(error, log, call), requestId?.());
    }
  };

async function callerFrom(authenticator: Authenticator, headers: Headers): Promise<Caller> {
  const authorization = headers.get('authorization');
  if (authorization !== null) return authenticator.bearer(authorization);
  const cookies = headers.get('cookie');
  if (cookies !== null && maySendCookie(headers)) {
    const caller = await authenticator.session(cookies);
    if (caller) return caller;
  }
  throw new PlatformError('NOT_AUTHENTICATED');
}
