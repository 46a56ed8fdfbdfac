import { existsSync } from 'node:fs';
import type { Clock, Log } from '@platform/kit';
import { rootMark } from '../server/process.ts';
import { memoryLimits } from '../health/watchdog.ts';
import { agentUnit, relayEnvironment, relayUnit, serverStopSeconds, serverUnit } from '../install/unit.ts';
import { parentSupervisor } from '../supervisor/parent.ts';
import { linuxDevice } from '../os/linux/device.ts';
import { ownMemory } from '../os/linux/memory.ts';
import { forgetStart } from '../os/linux/program-pages.ts';
import { linuxSupervisor } from '../os/linux/supervisor.ts';
import type { Device } from '../os/ports.ts';
import type { RequestTrace } from '../os/request-trace.ts';
import type { Supervisor } from '../os/supervisor.ts';
import { windowsDevice } from '../os/windows/device.ts';

export interface ThisMachine {
  device: Device;
  supervisor: Supervisor;
  /** Aborts when a supervisor that has no signals requests a stop. */
  stopped: AbortSignal | undefined;
  ownMemory: () => number | undefined;
  memoryLimitBytes: number;
  /** Releases the memory that only the start needed. */
  forgetStart: (of: { clock: Clock; log: Log }, signal: AbortSignal) => Promise<void>;
}

/**
 * The adapters for the host that this process runs on. Changes `env`: variables for the agent must not reach its child
 * processes.
 *
 * @param orphaned - called when the process that supervises this agent has died.
 */
export async function thisMachine(of: {
  root: string;
  env: Record<string, string | undefined>;
  orphaned: () => void;
  /** Trace of the agent's requests; left out: they are not logged. */
  trace?: RequestTrace;
  clock: Clock;
  log: Log;
}): Promise<ThisMachine> {
  const { root, env, orphaned, trace, clock, log } = of;
  const parent = parentSupervisor(env, orphaned);
  const supervisor = parent ?? (await linuxSupervisor(env, log));
  const units = { unit: serverUnit, agentUnit, relayUnit, stopMs: serverStopSeconds * 1000 };
  const device =
    process.platform === 'win32'
      ? windowsDevice({ root, clock })
      : linuxDevice({
          root,
          mark: { name: rootMark, value: root },
          units,
          relay: { command: [...thisProgram(), 'relay', '--root', root], env: relayEnvironment },
          clock,
          trace,
          log,
        });
  if (parent) device.host.isKept = true;
  const memoryLimitBytes = process.versions.bun === undefined ? memoryLimits.fromSource : memoryLimits.built;
  return { device, supervisor, stopped: parent?.stopped, ownMemory, memoryLimitBytes, forgetStart };
}

/** The command line that starts this program again: as one file, or from source by its runtime. */
export function thisProgram(): string[] {
  const [, script = ''] = process.argv;
  return /\.(?:ts|mjs)$/.test(script) && existsSync(script) ? [process.execPath, script] : [process.execPath];
}
