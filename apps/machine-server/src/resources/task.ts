import { errorText } from '@platform/kit';
import type { Clock, Log } from '@platform/kit';
import type { Resource } from './resource.ts';

/**
 * A resource with a periodic task. It logs a failure at its start and end, not at each run: a camera that is unplugged
 * overnight must not fill the log.
 */
export function repeat(
  everyMs: number,
  { clock, log }: { clock: Clock; log: Log },
  turn: (signal: AbortSignal) => Promise<void>,
): Resource {
  const stop = new AbortController();
  const last: { error?: unknown } = {};
  const loop = async () => {
    let problem = '';
    while (!stop.signal.aborted) {
      try {
        await turn(stop.signal);
        if (problem !== '') log.info('works again');
        problem = '';
        delete last.error;
      } catch (error) {
        const text = errorText(error);
        if (!stop.signal.aborted) last.error = error;
        if (!stop.signal.aborted && text !== problem) log.warn('failed, will try again', { everyMs, error });
        problem = text;
      }
      await clock.sleep(everyMs, stop.signal);
    }
  };
  const done = loop();
  return {
    offer: { is: 'task' },
    failure: () => last.error,
    stop: async () => {
      stop.abort();
      await done;
    },
  };
}
