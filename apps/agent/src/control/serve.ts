import { changedOr, errorText, type Clock, type Log } from '@platform/kit';
import { PlatformError } from '@platform/contract/errors';
import type { AgentStatus } from '@platform/contract/agent-status';
import { readRecord } from '../server/record.ts';
import type { Disk } from '../os/ports.ts';
import type { Spool } from '../logs/spool.ts';
import { listen } from './listen.ts';
import type { Operator } from '../versions/operator.ts';
import { statusOf, type Reach } from './status.ts';
import type { AgentView } from './view.ts';

/** Time for the answer to be sent. */
const answerMs = 200;

export const lastStatusFile = 'state/status.json';

const never = async (): Promise<never> => {
  throw new PlatformError('UNSUPPORTED', { what: 'updates' });
};
const noOperator: Operator = { checkNow: never, rollback: never, pin: never, clearQuarantine: never };

/**
 * Serves the control socket of a running agent until `signal`. The last status stays on the disk for the time when no
 * agent runs. An agent works without its socket, so a failure is only logged.
 */
export async function serveControl(
  view: AgentView,
  { disk, clock, log }: { disk: Disk; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  const tracker = statusTracker(view, clock);
  const watching = Promise.all([tracker.watchReach(signal), tracker.watchServer(disk, signal)]);
  try {
    const operator = view.operator ?? noOperator;
    const handOver = (): boolean => {
      const { isSupervisedBySystemd, isKept = false } = view.self.host;
      if (!isSupervisedBySystemd && !isKept) return false;
      void clock.sleep(answerMs, signal).then(view.handOver);
      return true;
    };
    await listen(view.root, { status: tracker.status, operator, handOver }, { clock, log }, signal);
  } catch (error) {
    log.warn('there is no control socket: status and the other commands cannot ask this agent', {
      error: errorText(error),
    });
  }
  await watching;
  const last = { ...tracker.status(), is_running: false };
  await disk.write(lastStatusFile, new TextEncoder().encode(`${JSON.stringify(last)}\n`)).catch(() => {});
}

const logsOf = ({ counters }: Spool): AgentStatus['logs'] => ({
  waiting_lines: counters.waitingLines,
  dropped_lines: counters.droppedLines,
  spool_bytes: counters.bytes,
});

/** Keeps what no other code keeps: since when the connection and each condition last. */
function statusTracker(view: AgentView, clock: Clock) {
  const { wanted, actual, isReached, self, root, appAddress, spool, conditions } = view;
  const firstSeen = new Map<string, number>();
  let reach: Reach = { isReached: isReached.get(), sinceWall: clock.wall(), lastContactWall: undefined };
  let serverPid: number | null = null;

  return {
    status(): AgentStatus {
      const seen = new Set<string>();
      const status = statusOf({
        self,
        root,
        appAddress,
        wanted: wanted.get(),
        actual: actual.get(),
        reach: reach.isReached ? { ...reach, lastContactWall: clock.wall() } : reach,
        serverPid,
        logs: logsOf(spool),
        conditions: conditions.get(),
        conditionSince(key) {
          seen.add(key);
          const since = firstSeen.get(key) ?? clock.wall();
          firstSeen.set(key, since);
          return since;
        },
        sinceOf: view.sinceOf,
        moment: { now: clock.now(), wall: clock.wall() },
        pid: process.pid,
      });
      for (const key of firstSeen.keys()) if (!seen.has(key)) firstSeen.delete(key);
      return status;
    },

    async watchReach(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await isReached.changed(signal);
        const is = isReached.get();
        if (is === reach.isReached) continue;
        reach = { isReached: is, sinceWall: clock.wall(), lastContactWall: is ? undefined : clock.wall() };
      }
    },

    /** The pid of the server is in its record, written at its start and when it is ready. */
    async watchServer(disk: Disk, signal: AbortSignal): Promise<void> {
      let known: unknown;
      while (!signal.aborted) {
        const { at, since } = actual.get().server;
        const key = `${at} ${since}`;
        if (key !== known) {
          const record = ['running', 'starting', 'stopping'].includes(at) ? await readRecord(disk) : undefined;
          serverPid = record?.pid ?? null;
          known = key;
        }
        await changedOr(actual, Number.POSITIVE_INFINITY, clock, signal);
      }
    },
  };
}
