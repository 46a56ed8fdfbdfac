import { Code, ConnectError } from '@connectrpc/connect';
import { errorCodeOf } from '@platform/contract/errors';

/** How a call fails: name of the status and row of the error table. */
export async function failure(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    const found = ConnectError.from(error);
    return `${Code[found.code]} ${errorCodeOf(found) ?? found.rawMessage}`;
  }
  return 'no failure';
}
