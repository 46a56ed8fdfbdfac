import type { Actual, Wanted } from '../state.ts';

export interface Condition {
  code: string;
  severity: 'note' | 'warning' | 'error';
  message: string;
  remedy: string;
  /** ms since 1970; undefined: unknown. */
  sinceWall?: number;
}

const crashesBeforeTold = 3;

/** What an operator should know. Derived, stored nowhere. */
export function conditions(wanted: Wanted, actual: Actual): readonly Condition[] {
  const { server, install } = actual;
  const list: Condition[] = wanted.corrections.map(({ path, problem, used }) => ({
    code: 'CONFIG_CORRECTED',
    severity: 'warning',
    message: `${path}: ${problem} Used: ${used}.`,
    remedy: 'Correct this field in the configuration of the machine.',
  }));
  if (install.failure) {
    const { code, text, remedy, sinceWall } = install.failure;
    list.push({ code: code || 'UPDATE_FAILED', severity: 'error', message: text, remedy, sinceWall });
  }
  if (server.at === 'waiting' && server.restarts >= crashesBeforeTold) {
    list.push({
      code: 'SERVER_CRASHES',
      severity: 'error',
      message: `The machine server ended by itself ${server.restarts} times; last: ${server.lastExit}.`,
      remedy: 'See its last lines in the logs. Another version can be chosen in version_control.platform-server.',
    });
  }
  if (isRestartNeeded(actual)) {
    list.push({
      code: 'RESTART_NEEDED',
      severity: 'note',
      message: 'A newer version of the machine server is installed than the one that runs.',
      remedy: 'Restart the machine server to use it.',
    });
  }
  return list;
}

export const isRestartNeeded = ({ server, install }: Actual): boolean =>
  server.running !== null &&
  (server.isReplacedOnDisk || (install.installed !== null && server.running !== install.installed));
