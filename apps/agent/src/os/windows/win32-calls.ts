import { WindowsError } from '../windows-ports.ts';

/** As Windows expects texts. */
export const wide = (text: string): Uint8Array => Buffer.from(`${text}\0`, 'utf16le');
/** No address, handle or flag. */
export const none = 0;

export type Must = (call: string, answer: number | bigint) => bigint;

/**
 * Throws WindowsError if a call returned zero. No other call may come in between: it would overwrite the error code.
 */
export const mustBy =
  (lastError: () => number | bigint): Must =>
  (call, answer) => {
    if (BigInt(answer) === 0n) throw new WindowsError(call, Number(lastError()));
    return BigInt(answer);
  };
