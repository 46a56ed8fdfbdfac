import { spawn } from 'node:child_process';
import type { Log } from '@platform/kit';
import { noSupervisor, type Supervisor } from '../../supervisor.ts';
import { datagramsTo } from '../kernel/libc.ts';
import { forgetStarts } from '../../starts-file.ts';
import { plainEnvironment } from '@platform/kit/node';

/**
 * systemd, if it started this process as a unit of Type=notify; otherwise `noSupervisor`.
 *
 * Removes the variables from `env`: a child that notifies systemd would speak for the agent.
 */
export async function linuxSupervisor(env: Record<string, string | undefined>, log: Log): Promise<Supervisor> {
  const { NOTIFY_SOCKET: address, WATCHDOG_USEC: watchdog, WATCHDOG_PID: watched } = env;
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
  if (address === undefined || address === '') return noSupervisor;
  const isForUs = watched === undefined || watched === String(process.pid);
  const watchdogMs = isForUs && Number(watchdog) > 0 ? Number(watchdog) / 1000 : undefined;
  try {
    const send = 'bun' in process.versions ? await datagramsTo(address) : byProgram(address, log);
    const lives = { isKnown: false };
    return {
      watchdogMs,
      notify(state) {
        if (!send(state)) log.warn('systemd was not notified', { state });
        if (lives.isKnown || !/^WATCHDOG=1$/m.test(state)) return;
        lives.isKnown = true;
        forgetStarts();
      },
    };
  } catch (error) {
    log.error('systemd cannot be notified', { error });
    return noSupervisor;
  }
}

/** Without foreign functions: runs systemd-notify, which speaks for its parent. Costs a process per message. */
function byProgram(address: string, log: Log): (state: string) => boolean {
  return (state) => {
    const child = spawn('systemd-notify', state.split('\n'), {
      env: plainEnvironment({ NOTIFY_SOCKET: address }),
      stdio: 'ignore',
    });
    child.on('error', (error) => log.warn('systemd was not notified', { state, error }));
    return true;
  };
}
