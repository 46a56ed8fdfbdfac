import { systemClock } from '@platform/kit/node';
import type { WireMachine } from './wire-callers.ts';

/** Checks as an agent does, until it is disposed of: 17 s after its last check a machine is offline. */
export function stayOnline(machine: WireMachine): AsyncDisposable {
  const end = new AbortController();
  const loop = async (): Promise<void> => {
    while (!end.signal.aborted) {
      await machine.beat();
      await systemClock.sleep(2_000, end.signal);
    }
  };
  const done = loop().catch(() => undefined); // the server may end first, when a step has failed
  return {
    async [Symbol.asyncDispose]() {
      end.abort();
      await done;
    },
  };
}
