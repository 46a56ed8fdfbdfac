// A real management server as a process. A test or a benchmark simulates the fleet of machines in its database.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { plainEnvironment, type ProcessGroup, spawnGroup } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { postmasterOf } from './end-state.ts';
import { ServerLab } from './server-lab.ts';
import { collectGarbage, openDebugger } from './garbage.ts';
import { checkout } from './up-process.ts';

const program = path.join(checkout, 'apps', 'cloud', 'src', 'main.ts');
/** A server without a built app says so to browsers. */
const webApp = path.join(checkout, 'apps', 'web', 'dist');

export interface FleetMember {
  partId: string;
  secret: string;
}

export class FleetLab extends ServerLab {
  #debugged: { group: ProcessGroup; address?: string } | undefined;

  static async open(): Promise<FleetLab> {
    const lab = new FleetLab(await tempFolder());
    await lab.start();
    return lab;
  }
  /** User and system time of the database, including its exited processes, ms. */
  get databaseCpuMs(): number {
    const { pid = 0 } = postmasterOf(this.folder.path) ?? {};
    return pid > 0 ? cpuMs([pid, ...childrenOf(pid)]) + endedChildrenMs(pid) : 0;
  }

  protected async launch(args: readonly string[]): Promise<ProcessGroup> {
    const group = await spawnGroup({
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', '--inspect-port=0', program, ...args, '--web-dir', webApp],
      env: plainEnvironment(),
      cwd: checkout,
    });
    this.#debugged = { group };
    return group;
  }
  /** Runs a garbage collection in the server. */
  async collectGarbage(): Promise<void> {
    const debugged = this.#debugged;
    if (!debugged?.group.stderr) throw new Error('the server was not started');
    debugged.address ??= await openDebugger(debugged.group.pid, debugged.group.stderr);
    await collectGarbage(debugged.address);
  }

  /** Inserts machines into the database, each with a part, a secret and a configuration. */
  async machines(count: number): Promise<FleetMember[]> {
    const members = Array.from({ length: count }, () => ({
      machineId: randomUUID(),
      partId: randomUUID(),
      secret: randomBytes(32).toString('base64url'),
    }));
    const { org_id: orgId } = this.ready;
    const [place] = await this.sql<{ id: string }>('select id from location limit 1');
    const column = (of: (one: (typeof members)[number]) => unknown) => members.map(of);
    await this.sql(
      `insert into machine (id, org_id, location_id, name) select id, $1, $2, 'fleet ' || id from unnest($3::uuid[]) id`,
      [orgId, place?.id, column((one) => one.machineId)],
    );
    await this.sql(
      `insert into part (id, org_id, machine_id, name, is_main, revision)
       select part, $1, machine, 'main', true, 1 from unnest($2::uuid[], $3::uuid[]) new(part, machine)`,
      [orgId, column((one) => one.partId), column((one) => one.machineId)],
    );
    await this.sql(
      `insert into part_secret (id, org_id, part_id, sealed, secret_hash)
       select gen_random_uuid(), $1, part, '', hash from unnest($2::uuid[], $3::bytea[]) new(part, hash)`,
      [orgId, column((one) => one.partId), column((one) => createHash('sha256').update(one.secret).digest())],
    );
    const text = JSON.stringify({ agent: { advanced_settings: { debug: false } }, components: [] });
    await this.sql(
      `insert into config_revision (part_id, revision, org_id, text, config, sha256, saved_by)
       select part, 1, $1, $3::text, $3::text::jsonb, $4, 'a lab' from unnest($2::uuid[]) part`,
      [orgId, column((one) => one.partId), text, createHash('sha256').update(text).digest()],
    );
    return members.map(({ partId, secret }) => ({ partId, secret }));
  }
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

/** User and system time of processes with all their threads, ms. */
export const cpuMs = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => {
    try {
      return sum + cpuOf(pid);
    } catch {
      return sum; // it has ended
    }
  }, 0);
const cpuOf = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce(
    (sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
    0,
  );
/** Time of exited children; the kernel counts in hundredths of a second. */
function endedChildrenMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}
/** Resident memory in MiB. */
export const rssMib = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
