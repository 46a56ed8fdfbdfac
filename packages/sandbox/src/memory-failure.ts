/** Decides whether a command failed because of a lack of memory, from its exit code, output and OOM counters. */

export interface MemoryEvidence {
  /** Exit code of the command itself; 128 + number after a signal. */
  readonly exitCode: number;
  /** Last lines of both outputs, the newest last. */
  readonly lastLines: readonly string[];
  /** Processes of the sandbox that the kernel killed for memory. Undefined if no counter exists. */
  readonly oomKills: number | undefined;
  /** Processes of this host that the kernel killed for memory during the run. */
  readonly hostOomKills: number;
}

/** Messages of Python, numpy, PyTorch, C++, Node and the shell about a refused allocation. */
const refusal =
  /^((\w+\.)*(_Array)?MemoryError\b|\s*what\(\):\s+std::bad_alloc|terminate called after .*std::bad_alloc|.*DefaultCPUAllocator: (can't|not enough)|.*JavaScript heap out of memory|.*OSError: \[Errno 12\]|.*\bCannot allocate memory\b)/;
/** Messages of programs about a child that was killed, or failed. */
const childKilled =
  /SIGKILL|signal:? (9\b|Killed)|(exit ?code|status|returned)[ :=]+-9\b|BrokenProcessPool|terminated abruptly|^Killed$/i;
const childFailed = /CalledProcessError|ChildFailedError|exit (status|code)|exitcode/i;

/** The reason, as the end of a sentence; undefined if memory is not the cause. */
export function memoryFailure({ exitCode, lastLines, oomKills, hostOomKills }: MemoryEvidence): string | undefined {
  if (exitCode === 0) return undefined;
  const last = lastLines.at(-1) ?? '';
  const wasKilled = exitCode === 137 || childKilled.test(last);
  if (oomKills !== undefined && oomKills > 0) return killedText(oomKills);
  if (oomKills === undefined && hostOomKills > 0 && wasKilled) return killedText(hostOomKills);
  const refused = lastLines.findLast((line) => refusal.test(line));
  if (refused === undefined) return undefined;
  // A script that continues after a refused allocation may fail for another reason.
  const isLast = lastLines.slice(-2).includes(refused);
  return isLast || childKilled.test(last) || childFailed.test(last)
    ? `an allocation was refused (${refused.trim().slice(0, 200)})`
    : undefined;
}

export const killedText = (count: number): string =>
  `the kernel killed ${count === 1 ? 'one of its processes' : `${count} of its processes`} for it`;

/** @param vmstat - content of /proc/vmstat. */
export const hostOomKillsIn = (vmstat: string): number => Number(/^oom_kill (\d+)$/m.exec(vmstat)?.[1] ?? 0);
