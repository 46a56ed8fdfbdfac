import type { Environment } from '@platform/kit/node';

/**
 * Text of a systemd EnvironmentFile= with these values. A value may hold anything but NUL; invalid names are omitted.
 */
export const environmentText = (env: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(env)
    .filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    .map(([name, value]) => (value === undefined ? '' : `${name}="${value.replace(/["\\$`]/g, '\\$&')}"\n`))
    .join('');

/**
 * Variables that systemd or the runtime sets for this process only, and settings of our programs: a child must not
 * inherit them.
 */
const ofTheParent =
  /^(PLATFORM_.*|NOTIFY_SOCKET|WATCHDOG_.*|LISTEN_.*|FDSTORE|INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_.*|MANAGERPID|MEMORY_PRESSURE_.*|MAINPID|BUN_.*|NODE_OPTIONS|LD_PRELOAD|_|PWD|OLDPWD|SHLVL)$/;

/**
 * This process's environment for a child: search path, proxies and language, without the variables meant for this
 * process. A key that is set for a command must not reach the programs of a machine.
 */
export const childEnvironment = (env: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !ofTheParent.test(entry[0]),
    ),
  );
