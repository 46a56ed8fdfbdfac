// A machine for the cases of the fleet: credentials from a running server, and agents that start from one folder.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { plainEnvironment, type ProcessGroup, spawnGroup, systemClock } from '@platform/kit/node';
import { type TempFolder, tempFolder } from '@platform/kit/testing';
import { clientOf } from './cloud-process.ts';
import { FleetLab } from './fleet-lab.ts';
import { checkout, runCli } from './up-process.ts';

const agentMain = path.join(checkout, 'apps/agent/src/main.ts');
const patienceMs = 150_000;

/** For programs in a namespace of their own, which ordinary users get in a user namespace. */
export const inNamespace = (...kinds: readonly string[]): string[] => [
  'unshare',
  ...(process.getuid?.() === 0 ? [] : ['-r']),
  ...kinds,
];

/** Some systems give ordinary users no namespaces. */
export const canUnshare = spawnSync('unshare', [...inNamespace('-m', '-u').slice(1), 'true']).status === 0;

interface ShownMachine {
  hostname: string;
  serverUrl: string;
  conditions: { code: string; message: string }[];
}

export interface CaseMachine extends AsyncDisposable {
  readonly cloud: FleetLab;
  readonly partId: string;
  readonly machineId: string;
  readonly folder: TempFolder;
  /** Runs the command line of the server's owner. */
  json(...args: string[]): Promise<Record<string, unknown>>;
  /** Starts a command of the agent; `before`: what runs it. */
  agent(root: string, of?: { command?: string; before?: readonly string[] }): Promise<ProcessGroup>;
  /** Counts log lines with this message in LOGS. */
  linesOf(message: string): Promise<number>;
  /** The machine as users see it. */
  shown(): Promise<ShownMachine>;
  /** @throws Error with the last lines of the agents */
  until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void>;
  logText(): string;
}

export async function caseMachine(): Promise<CaseMachine> {
  const cloud = await FleetLab.open();
  const folder = await tempFolder();
  const { ready } = cloud;
  const client = clientOf(ready);
  const env = {
    PLATFORM_URL: ready.url,
    PLATFORM_API_KEY_ID: ready.api_key_id,
    PLATFORM_API_KEY: ready.api_key,
    PLATFORM_RELEASE_KEYS: folder.file('keys'),
  };
  const json = async (...args: string[]): Promise<Record<string, unknown>> => {
    const { code, stdout, stderr } = await runCli(env, ...args, '--json');
    if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  const created = await json('machine', 'create', 'case');
  const partId = String(created['part_id']);
  const credentialsFile = folder.file('platform.json');
  await writeFile(credentialsFile, JSON.stringify(created['credentials']), { mode: 0o600 });
  const [part] = await cloud.sql<{ machine_id: string }>('select machine_id from part where id = $1', [partId]);
  const machineId = part?.machine_id ?? '';
  const logFile = folder.file('agent.log');
  const logText = (): string => readFileSync(logFile, 'utf8');
  return {
    cloud,
    partId,
    machineId,
    folder,
    json,
    agent(root, { command = 'run', before = [] } = {}) {
      const own = [agentMain, command, '--root', root, '--config', credentialsFile];
      const [program = '', ...args] = [...before, process.execPath, '--disable-warning=ExperimentalWarning', ...own];
      return spawnGroup({ command: program, args, env: plainEnvironment(), logFile });
    },
    async linesOf(message) {
      const [row] = await cloud.sql<{ count: string }>(
        'select count(*) as count from part_log where part_id = $1 and message = $2',
        [partId, message],
      );
      return Number(row?.count ?? 0);
    },
    shown: () => shownBy(client, machineId),
    async until(what, isSo) {
      const end = systemClock.now() + patienceMs;
      while (!(await isSo())) {
        if (systemClock.now() > end) throw new Error(`${what} did not happen; ${logText().slice(-3_000)}`);
        await systemClock.sleep(300);
      }
    },
    logText,
    async [Symbol.asyncDispose]() {
      await cloud[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function shownBy({ fleetClient }: ReturnType<typeof clientOf>, machineId: string): Promise<ShownMachine> {
  const { machine } = await fleetClient.getMachine({ id: machineId });
  const { report, conditions = [] } = machine ?? {};
  return {
    hostname: report?.hostname ?? '',
    serverUrl: report?.serverUrl ?? '',
    conditions: [...conditions, ...(report?.conditions ?? [])].map(({ code, message }) => ({ code, message })),
  };
}
