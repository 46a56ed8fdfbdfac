import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Clock, Log } from '@platform/kit';
import { pipeFile } from '../control/address.ts';
import { rootMark } from '../server/process.ts';
import { memoryLimits } from '../health/watchdog.ts';
import { agentUnit, relayEnvironment, relayUnit, serverStopSeconds, serverUnit } from '../install/unit.ts';
import { parentSupervisor } from '../supervisor/parent.ts';
import { linuxDevice } from '../os/linux/device.ts';
import { ownMemory, forgetStart } from '../os/linux/kernel/program-pages.ts';
import { linuxSupervisor } from '../os/linux/systemd/supervisor.ts';
import type { Device, Disk } from '../os/ports.ts';
import type { RequestTrace } from '../os/request-trace.ts';
import type { Supervisor } from '../os/supervisor.ts';
import { childEnvironment } from '../os/environment.ts';
import { windowsDevice } from '../os/windows/device.ts';
import { leaveConsole, windowsBootId } from '../os/windows/win32-machine.ts';
import { readKeptExit } from '../supervisor/exit-file.ts';
import { previousRunOf } from '../os/linux/systemd/journal.ts';
import { unitExitReason } from '../state/exit-reason.ts';
import { noPreviousRun, type PreviousRun } from '../health/previous-run.ts';
import type { Context } from '../health/context.ts';

const exitCodeDone = 0;

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
export async function thisMachine(
  of: Pick<Context, 'root' | 'clock' | 'log'> & {
    env: Record<string, string | undefined>;
    orphaned: () => void;
    /** Trace of the agent's requests; left out: they are not logged. */
    trace?: RequestTrace;
  },
): Promise<ThisMachine> {
  const { root, env, orphaned, trace, clock, log } = of;
  const parent = parentSupervisor(env, orphaned);
  const supervisor = parent ?? (await linuxSupervisor(env, log));
  const units = { unit: serverUnit, agentUnit, relayUnit, stopMs: serverStopSeconds * 1000 };
  const device =
    process.platform === 'win32'
      ? await windowsMachine(root, clock, parent !== undefined)
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

async function windowsMachine(root: string, clock: Clock, isKept: boolean): Promise<Device> {
  // Otherwise its children would share its console, and it would hear their Ctrl+C.
  if (isKept) await leaveConsole();
  const bootId = await windowsBootId().catch(() => ''); // without the rights of an administrator
  return windowsDevice({ root, clock, pipeFile, interrupt: (pid) => interruptByChild(pid), bootId });
}

/** In a process of its own, which joins the other console. @throws Error if it fails */
async function interruptByChild(pid: number): Promise<void> {
  const [program = '', ...args] = thisProgram();
  const options = { stdio: 'ignore', windowsHide: true, env: childEnvironment(process.env) } as const;
  const child = spawn(program, [...args, 'interrupt', '--pid', String(pid)], options);
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== exitCodeDone) throw new Error(`process ${pid} could not be interrupted: exit ${code}`);
}

/** The command line that starts this program again: as one file, or from source by its runtime. */
export function thisProgram(): string[] {
  const [, script = ''] = process.argv;
  return /\.(?:ts|mjs)$/.test(script) && existsSync(script) ? [process.execPath, script] : [process.execPath];
}

/** How the previous agent ended, from the journal of systemd. @param env - environment of this agent */
export async function previousRunInJournal(env: NodeJS.ProcessEnv): Promise<PreviousRun> {
  const run = await previousRunOf(agentUnit, env);
  if (!run) return noPreviousRun;
  const { exit, ...rest } = run;
  return { reason: unitExitReason(exit), ...rest };
}

/** How the last agent of this folder ended, for a command: from its supervisor's record, else from the journal. */
export async function lastRunHere(disk: Disk): Promise<PreviousRun> {
  const kept = await readKeptExit(disk);
  return kept.reason === undefined ? previousRunInJournal({ INVOCATION_ID: '' }) : kept;
}
