import { agentExitBefore } from './agent-exit.ts';
import { openPrograms, retry, type ManagedProgram, type UpdatesParts } from './managed-programs.ts';
import { operatorOf, type Operator } from './operator.ts';
import { isSameContent } from '../state/trial-file.ts';
import type { ExitReport } from '../state/state.ts';
import { updateLoops } from './update-loops.ts';

export interface Updates {
  operator: Operator;
  /** Counts a start of the server. Returns the version to start. */
  beginStart(): Promise<string | null>;
  /** The server version in use. */
  linked(): Promise<string | null>;
  /** Records an unrequested exit of the server. */
  serverExited(id: string, how: { reason: string; lines: readonly string[] }): Promise<void>;
  /** The server, or both programs, stopped on request. The stop does not count against versions on trial. */
  interrupted(who: 'server' | 'both'): Promise<void>;
  loops(signal: AbortSignal): { name: string; work: Promise<void> }[];
}

/** Downloads, switches, tries and rolls back both programs of this machine. */
export async function openUpdates(parts: UpdatesParts): Promise<Updates> {
  const { device, actual, clock } = parts;
  const programs = await openPrograms(parts);
  const startedWall = clock.wall();
  const { agent, server, exits, pins, urgent } = programs;
  const agentExit = await agentExitBefore({ ...parts, startedWall, bad: () => agent.store.bad() });
  if (agentExit) {
    const { id, exit } = agentExit;
    actual.update((a) => ({ ...a, agentInstall: { ...a.agentInstall, lastExit: exit } }));
    if (id !== undefined) await exits.set('agent', id, exit);
  }
  return {
    operator: operatorOf({
      stores: { agent: agent.store, server: server.store },
      disk: device.disk,
      pins,
      urgent,
      again: (program) => retry(programs[program], parts, programs),
    }),
    beginStart: () => beginStart(server),
    linked: () => server.store.linked(),
    async serverExited(id, { reason, lines }) {
      const exit: ExitReport = { id, reason, lines, sinceWall: clock.wall() };
      actual.update((a) => ({ ...a, install: { ...a.install, lastExit: exit } }));
      const { trial, quarantined } = actual.get().install;
      if (trial?.to !== id && !quarantined.some((bad) => isSameContent(bad.id, id))) return;
      await exits.set('server', id, exit);
      await server.version.refresh();
    },
    async interrupted(who) {
      for (const { store, log } of who === 'both' ? [agent, server] : [server]) {
        await store.interrupt().catch((error: unknown) => log.warn('the end of a start was not noted', { error }));
      }
    },
    loops: (signal) => updateLoops(parts, programs, startedWall, signal),
  };
}

async function beginStart({ store, version, log }: ManagedProgram): Promise<string | null> {
  const { id, outcome } = await store.beginStart();
  if (outcome === 'reverted') {
    log.error('the new version did not pass the health check: the previous one is restored', { id });
  }
  if (outcome !== 'normal') await version.refresh();
  return id;
}
