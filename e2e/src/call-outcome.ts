import { Code, ConnectError } from '@connectrpc/connect';
import { errorCodeOf } from '@platform/contract/errors/errors';

export type Outcome<T> = { ok: true; answer: T } | { ok: false; code: string };

/**
 * Returns the outcome of a call. After a broken connection or a server kill, it is unknown whether the call took
 * effect.
 */
export async function outcome<T>(ask: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, answer: await ask() };
  } catch (error) {
    const code = errorCodeOf(error);
    if (code === 'INTERNAL') throw error;
    if (code !== undefined) return { ok: false, code };
    const isUnknown =
      !(error instanceof ConnectError) ||
      [Code.Unavailable, Code.Unknown, Code.Internal, Code.Aborted].includes(error.code);
    if (!isUnknown) throw error;
    return { ok: false, code: 'UNKNOWN' };
  }
}
