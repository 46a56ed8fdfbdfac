import { onSignals, systemClock } from '@platform/kit/node';
import type { Command } from 'commander';
import { connect, type ConnectionFlags } from './connection.ts';
import { Ended, exitCodes } from './exit-codes.ts';
import { createOutput } from './output.ts';
import type { CommandWorld, Run } from './run.ts';

const stopping: { signal?: AbortSignal } = {};
const signalOnce = (): AbortSignal => (stopping.signal ??= onSignals());

/** Whether Ctrl-C or a signal has requested the end of the program. */
export const isStopped = (): boolean => stopping.signal?.aborted === true;

/** Grace period for work that ignores the signal. */
const graceMs = 1500;

async function endsSoonAfter(signal: AbortSignal): Promise<never> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await systemClock.sleep(graceMs);
  throw new Ended(exitCodes.stopped, 'Stopped.');
}

/** Runs a command with a connection that is opened on first use. */
export const run: Run =
  <A extends unknown[]>(action: (world: CommandWorld, ...args: A) => Promise<unknown>) =>
  async (...args: unknown[]) => {
    const command = args.at(-1) as Command;
    const flags = command.optsWithGlobals<ConnectionFlags>();
    const opened: { connection?: ReturnType<typeof connect> } = {};
    const signal = signalOnce();
    const world = {
      connection: () => (opened.connection ??= connect(flags)),
      output: createOutput(flags.json === true, process.stdout),
      signal,
    };
    await Promise.race([action(world, ...(args.slice(0, -1) as A)), endsSoonAfter(signal)]);
  };
