import type { Connection } from './connection.ts';
import type { Output } from './output.ts';

/** Environment of a command. The connection is opened on first use. */
export interface CommandWorld {
  connection(): Promise<Connection>;
  readonly output: Output;
  readonly signal: AbortSignal;
}

/** Wraps a command's function as an action of the parser. */
export type Run = <A extends unknown[]>(
  action: (world: CommandWorld, ...args: A) => Promise<unknown>,
) => (...args: unknown[]) => Promise<void>;
