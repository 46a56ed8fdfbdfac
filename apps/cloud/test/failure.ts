import { Code, ConnectError } from '@connectrpc/connect';
import { errorCodeOf } from '@platform/contract/errors/errors';

/** Returns how a call fails: the name of the status and the code of the error table. */
export async function failure(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    const found = ConnectError.from(error);
    return `${Code[found.code]} ${errorCodeOf(found) ?? found.rawMessage}`;
  }
  return 'no failure';
}
