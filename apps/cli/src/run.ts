import type { Connection } from './connection.ts';
import type { Output } from './output.ts';

/** What a command works with. The connection is opened when it is first asked for. */
export interface CommandWorld {
  connection(): Promise<Connection>;
  readonly output: Output;
  readonly signal: AbortSignal;
}

/** Turns a command's function into an action of the parser. */
export type Run = <A extends unknown[]>(
  action: (world: CommandWorld, ...args: A) => Promise<unknown>,
) => (...args: unknown[]) => Promise<void>;
