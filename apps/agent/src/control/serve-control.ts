import { changedOr, errorText, type Cell } from '@platform/kit';
import type { AgentStatus } from '@platform/contract/machine/agent-status';
import { readRecord } from '../server/record.ts';
import type { Disk, OpenControl } from '../os/ports.ts';
import type { Spool } from '../logs/spool.ts';
import { listen } from './listen.ts';
import { statusOf, type Reach } from './status.ts';
import { unixSocket } from './unix-socket.ts';
import type { AgentView } from './view.ts';
import type { Context } from '../health/context.ts';

/** Time for the answer to be sent. */
const answerMs = 200;

export const lastStatusFile = 'state/status.json';

interface ControlParts extends Pick<Context, 'root' | 'disk' | 'clock' | 'log'> {
  /** Left out: a Unix socket below the root. */
  open: OpenControl | undefined;
  /** What the running tasks show: it changes with the credentials. */
  view: Cell<AgentView>;
  /** Reads the credentials file now. @returns whether other credentials are in use */
  reloadCredentials: () => Promise<boolean>;
  /** Starts provisioning; false: this agent does not manage the networks of its machine. */
  provision: () => boolean;
}

/**
 * Serves the control channel of a running agent until `signal`. The last status stays on the disk for the time when no
 * agent runs. An agent works without it, so a failure is only logged.
 */
export async function serveControl(parts: ControlParts, signal: AbortSignal): Promise<void> {
  const { root, view, disk, clock, log } = parts;
  let tracker = statusTracker(view.get());
  const followViews = async (): Promise<void> => {
    while (!signal.aborted) {
      const turn = new AbortController();
      const over = AbortSignal.any([turn.signal, signal]);
      const watching = Promise.all([tracker.watchReach(over), tracker.watchServer(disk, over)]);
      await view.changed(signal);
      turn.abort();
      await watching;
      tracker = signal.aborted ? tracker : statusTracker(view.get());
    }
  };
  const watching = followViews();
  try {
    const handOver = (): boolean => {
      const { isSupervisedBySystemd, isKept = false } = view.get().self.host;
      if (!isSupervisedBySystemd && !isKept) return false;
      void clock.sleep(answerMs, signal).then(() => view.get().handOver());
      return true;
    };
    const controlled = {
      status: () => tracker.status(),
      operator: () => view.get().operator,
      handOver,
      reloadCredentials: parts.reloadCredentials,
      provision: parts.provision,
    };
    await listen(parts.open ?? unixSocket(root), controlled, { clock, log }, signal);
  } catch (error) {
    log.warn('there is no control channel: status and the other commands cannot ask this agent', {
      error: errorText(error),
    });
  }
  await watching;
  const last = { ...tracker.status(), is_running: false };
  await disk.write(lastStatusFile, new TextEncoder().encode(`${JSON.stringify(last)}\n`)).catch(() => {});
}

const logsOf = (spool: Spool | undefined): AgentStatus['logs'] => ({
  waiting_lines: spool?.counters.waitingLines ?? 0,
  dropped_lines: spool?.counters.droppedLines ?? 0,
  spool_bytes: spool?.counters.bytes ?? 0,
});

/** Keeps what no other code keeps: since when the connection and each condition last. */
function statusTracker(view: AgentView) {
  const { wanted, actual, isReached, network, systemStatus, self, root, appAddress, spool, conditions, clock } = view;
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
        network: network.get(),
        system: systemStatus.get(),
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
