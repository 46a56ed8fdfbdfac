import type { Programs } from '../os/ports.ts';
import type { Clock } from '@platform/kit';
import { agentUnit, relayUnit, serverUnit } from '../install/unit.ts';
import { otherUnit } from './other-agent.ts';

export interface BesideParts {
  /** Installs and starts our own service beside the other one. @throws Error with the reason */
  install(): Promise<void>;
  /** Whether our own agent runs and has reached the management server. */
  isReached(): Promise<boolean>;
  /** Called when the other service is disabled: restores its program for whoever enables it again. */
  finish(): Promise<void>;
  system: Programs;
  clock: Clock;
}

/** systemd kills this process with the service that it belongs to. */
const stopMs = 120_000;

/**
 * Takes over under systemd: installs our own service and waits until it has reached the management server. Then it
 * disables and stops the other one, which is unchanged until then. The signal interrupts it: the next start goes on.
 *
 * @throws Error; then our own service is stopped and disabled again
 */
export async function takeOverBeside(parts: BesideParts, signal: AbortSignal): Promise<void> {
  const { system, clock } = parts;
  const systemctl = async (...args: string[]): Promise<void> => {
    const { code, text } = await system.run('systemctl', ...args);
    if (code !== 0) throw new Error(`systemctl ${args.join(' ')}: ${text || `ended with ${code}`}`);
  };
  const interrupted = Promise.withResolvers<'interrupted'>();
  const interrupt = (): void => interrupted.resolve('interrupted');
  if (signal.aborted) interrupt();
  signal.addEventListener('abort', interrupt);
  const work = async (): Promise<void> => {
    await parts.install();
    const isReached = await parts.isReached();
    if (signal.aborted) return;
    if (!isReached) throw new Error('it has not reached the management server');
    await systemctl('disable', otherUnit);
    await system.run('sync'); // otherwise a power cut could start both
  };
  try {
    const end = await Promise.race([work(), interrupted.promise]);
    if (end === 'interrupted' || signal.aborted) return;
  } catch (error) {
    if (signal.aborted) return;
    await stopOwnServices(system);
    throw error;
  }
  await parts.finish();
  // Last: this process is part of that service.
  await systemctl('stop', '--no-block', otherUnit);
  await clock.sleep(stopMs, signal);
}

/** The machine server runs in a unit of its own, and would stay when its agent has crashed. */
export async function stopOwnServices(system: Programs): Promise<void> {
  await system.run('systemctl', 'disable', '--now', agentUnit);
  await system.run('systemctl', 'stop', serverUnit, relayUnit);
}
