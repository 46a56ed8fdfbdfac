/** Aborts at the first SIGINT or SIGTERM. The second one ends the process at once, as if nobody listened. */
export function onSignals(): AbortSignal {
  const stop = new AbortController();
  const names = ['SIGINT', 'SIGTERM'] as const;
  const heard = (name: string) => {
    for (const n of names) process.off(n, heard);
    stop.abort(new Error(`received ${name}`));
  };
  for (const n of names) process.on(n, heard);
  return stop.signal;
}
