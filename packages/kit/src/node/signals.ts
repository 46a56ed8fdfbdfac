import { readFileSync } from 'node:fs';

/** A terminal signals every process of its group, and parents forward their signals: both together are one request. */
const sameRequestMs = 500;

/**
 * Aborts at the first SIGINT, SIGTERM or SIGHUP (unless nohup ignores that one). Another signal more than half a second
 * later ends the process at once, as without a handler.
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

/** Linux only: other systems do not show the mask. SIGHUP is signal 1, the lowest bit. */
function isHangUpIgnored(): boolean {
  if (process.platform !== 'linux') return false;
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${mask}`) & 1n) === 1n;
}
