// Opens the database of the folder --home as the server does, as the user --uid, and leaves it running. It is killed
// after its log line number --line, or after --ms; with --both, its database is killed, too. Prints "open" on success.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createLog } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { startCluster } from '../src/postgres/cluster.ts';
import { openOwnDatabase } from '../src/postgres/roles.ts';

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { home: text, uid: text, line: text, ms: text, both: { type: 'boolean' } } });
const { home = '' } = values;
const seen = { lines: 0 };
const log = createLog({
  name: 'database',
  clock: systemClock,
  level: 'debug',
  sink: (line) => {
    process.stderr.write(`${line.message}\n`);
    if (++seen.lines === Number(values.line)) killAll();
  },
});

function killAll(): void {
  if (values.both) killDatabase();
  process.kill(process.pid, 'SIGKILL');
}

function killDatabase(): void {
  try {
    const pid = Number(readFileSync(path.join(home, '18', 'postmaster.pid'), 'utf8').split('\n')[0]);
    process.kill(pid, 'SIGKILL');
  } catch {
    // None runs at this step.
  }
}

if (values.uid !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(Number(values.uid));
  process.setuid?.(Number(values.uid));
}
if (values.ms !== undefined) void systemClock.sleep(Number(values.ms)).then(killAll);
const cluster = await startCluster({ folder: home, clock: systemClock, log, settings: { fsync: 'off' } });
await openOwnDatabase(cluster, 'platform', log);
process.stdout.write('open\n');
