import { errorText } from '@platform/kit';
import type { Clock, Log } from '@platform/kit';
import type { Resource } from './resource.ts';

/**
 * A resource that does something again and again. A failure is logged when it begins and when it is over, not at each
 * turn: a camera that is unplugged over night fills no log.
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
