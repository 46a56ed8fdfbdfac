/** Text of a systemd EnvironmentFile= with these values. A value may hold anything but NUL; odd names are left out. */
export const environmentText = (env: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(env)
    .filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    .map(([name, value]) => (value === undefined ? '' : `${name}="${value.replace(/["\\$`]/g, '\\$&')}"\n`))
    .join('');

/** What a parent is told about itself by systemd or by its own runtime: never a child's business. */
const ofTheParent =
  /^(NOTIFY_SOCKET|WATCHDOG_.*|LISTEN_.*|FDSTORE|INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_.*|MANAGERPID|MEMORY_PRESSURE_.*|MAINPID|BUN_.*|NODE_OPTIONS|LD_PRELOAD|_|PWD|OLDPWD|SHLVL)$/;

/** Ours, for a child: its search path, proxies and language, not what was said to us alone. */
export const childEnvironment = (env: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !ofTheParent.test(entry[0]),
    ),
  );
