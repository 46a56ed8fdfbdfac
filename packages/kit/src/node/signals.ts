import { readFileSync } from 'node:fs';

/** A terminal sends a signal to every process of its group, and parents pass on what they get: that is one request. */
const sameRequestMs = 500;

/**
 * Aborts at the first SIGINT, SIGTERM or SIGHUP (unless nohup made that one ignored). Another one, later than half a second
 * after it, ends the process at once, as if nobody listened.
 */
export function onSignals(): AbortSignal {
  const stop = new AbortController();
  const names = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).filter((name) => name !== 'SIGHUP' || !isHangUpIgnored());
  let firstAt = 0;
  const heard = (name: NodeJS.Signals): void => {
    if (!stop.signal.aborted) {
      firstAt = performance.now();
      stop.abort(new Error(`received ${name}`));
    } else if (performance.now() - firstAt > sameRequestMs) {
      for (const n of names) process.off(n, heard);
      process.kill(process.pid, name);
    }
  };
  for (const n of names) process.on(n, heard);
  return stop.signal;
}

/** Linux shows it; elsewhere nohup is not known. SIGHUP is signal 1: the lowest bit of the mask. */
function isHangUpIgnored(): boolean {
  if (process.platform !== 'linux') return false;
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${mask}`) & 1n) === 1n;
}
