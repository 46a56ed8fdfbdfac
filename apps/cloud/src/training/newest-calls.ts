/** Limits each key to one call. A newer call aborts the older one, waits until it has ended, and then starts. */
export function newestCalls(): <T>(
  key: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
) => Promise<T> {
  const open = new Map<string, { end: AbortController; done: Promise<unknown> }>();
  return async (key, signal, work) => {
    const before = open.get(key);
    const end = new AbortController();
    const run = async () => {
      before?.end.abort();
      await before?.done.catch(() => {});
      return work(AbortSignal.any([signal, end.signal]));
    };
    const done = run();
    const mine = { end, done };
    open.set(key, mine);
    try {
      return await done;
    } finally {
      if (open.get(key) === mine) open.delete(key);
    }
  };
}
