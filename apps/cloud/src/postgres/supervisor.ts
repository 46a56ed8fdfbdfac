import { errorText, type Clock, type Log } from '@platform/kit';
import type { Cluster } from './cluster.ts';

const lookMs = 500;
const againMs = 1_000;

/** Keeps a database running: restarts one that died (killed, out of memory). */
export type ClusterSupervisor = {
  stop(): Promise<void>;
  /** Asks the database to end, without waiting for it. */
  abandon(): void;
};

export function superviseCluster(of: {
  first: Cluster;
  start: () => Promise<Cluster>;
  clock: Clock;
  log: Log;
}): ClusterSupervisor {
  const stop = new AbortController();
  const state = { cluster: of.first };
  const watch = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await of.clock.sleep(lookMs, stop.signal);
      if (stop.signal.aborted || (await state.cluster.isAlive())) continue;
      of.log.error('the database died; starting it again', { pid: state.cluster.pid });
      try {
        state.cluster = await of.start();
      } catch (error) {
        of.log.error('the database cannot be started', { error: errorText(error) });
        await of.clock.sleep(againMs, stop.signal);
      }
    }
  };
  const watched = watch();
  return {
    abandon() {
      stop.abort();
      state.cluster.signalStop();
    },
    async stop() {
      stop.abort();
      await watched;
      await state.cluster.stop();
    },
  };
}
