import type { Programs } from '../os/ports.ts';
import type { Clock } from '@platform/kit';
import { agentUnit } from '../install/unit.ts';
import { otherUnit } from './other-agent.ts';

export interface BesideParts {
  /** Installs and starts our own service beside the other one. @throws Error with the reason */
  install(): Promise<void>;
  /** Whether our own agent runs and has reached the management server. */
  isReached(): Promise<boolean>;
  system: Programs;
  clock: Clock;
}

/** systemd kills this process with the service that it belongs to. */
const stopMs = 120_000;

/**
 * Takes over under systemd: installs our own service and waits until it has reached the management server. Then it
 * disables and stops the other one, which is unchanged until then.
 *
 * @throws Error; then our own service is stopped and disabled again
 */
export async function takeOverBeside(parts: BesideParts, signal: AbortSignal): Promise<void> {
  const { system, clock } = parts;
  const systemctl = async (...args: string[]): Promise<void> => {
    const { code, text } = await system.run('systemctl', ...args);
    if (code !== 0) throw new Error(`systemctl ${args.join(' ')}: ${text || `ended with ${code}`}`);
  };
  try {
    await parts.install();
    if (!(await parts.isReached())) throw new Error('it has not reached the management server');
    await systemctl('disable', otherUnit);
  } catch (error) {
    await system.run('systemctl', 'disable', '--now', agentUnit);
    throw error;
  }
  // Last: this process is part of that service.
  await systemctl('stop', '--no-block', otherUnit);
  await clock.sleep(stopMs, signal);
}
