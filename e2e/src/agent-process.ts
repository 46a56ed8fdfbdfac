import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type ProcessGroup, spawnGroup, systemClock } from '@platform/kit/node';
import { checkout } from './up-process.ts';

/** One started agent: a compiled program, or Node with its script. */
export interface AgentProcess extends AsyncDisposable {
  readonly pid: number;
  /** Instant (systemClock) of its start. */
  readonly startedAt: number;
  /** Instant at which it notified its supervisor that it is ready. */
  readonly ready: Promise<number>;
  readonly exited: Promise<unknown>;
  /** Sends TERM and waits at most 150 s. */
  stop(): Promise<void>;
}

/** Receives the notifications for systemd, with their instants. */
interface Listener extends AsyncDisposable {
  readonly address: string;
  heard(text: string): Promise<number>;
}

const bunPackage: Readonly<Record<string, string>> = { x64: 'bun-linux-x64', arm64: 'bun-linux-aarch64' };

async function listener(address: string): Promise<Listener> {
  const bun = path.join(checkout, 'node_modules/@oven', bunPackage[process.arch] ?? '', 'bin/bun');
  const script = path.join(checkout, 'apps/agent/test/datagrams.ts');
  const group = await spawnGroup({ command: bun, args: [script, address] });
  if (!group.stdout) throw new Error('the output of the listener was not piped');
  const heard = new Map<string, number>();
  const waiting = new Map<string, (at: number) => void>();
  createInterface({ input: group.stdout }).on('line', (line) => {
    const text = JSON.parse(line) as string;
    if (!heard.has(text)) heard.set(text, systemClock.now());
    waiting.get(text)?.(systemClock.now());
  });
  const until = (text: string): Promise<number> => {
    const at = heard.get(text);
    return at === undefined ? new Promise((resolve) => waiting.set(text, resolve)) : Promise.resolve(at);
  };
  await until('bound');
  return { address, heard: until, [Symbol.asyncDispose]: async () => void (await group.stop({ termMs: 100 })) };
}

export interface AgentPlace {
  /** The program and its arguments before `run`. */
  command: readonly string[];
  root: string;
  credentialsFile: string;
  /** In addition to the variables that systemd sets. */
  env: Readonly<Record<string, string>>;
}

export async function startAgentProcess({ command, root, credentialsFile, env }: AgentPlace): Promise<AgentProcess> {
  const systemd = await listener(`@platform-bench-${process.pid}-${randomUUID()}`);
  const [program = '', ...first] = command;
  const startedAt = systemClock.now();
  const group: ProcessGroup = await spawnGroup({
    command: program,
    args: [...first, 'run', '--root', root, '--config', credentialsFile],
    env: { PATH: process.env['PATH'] ?? '', ...env, NOTIFY_SOCKET: systemd.address, WATCHDOG_USEC: '60000000' },
    logFile: path.join(root, '..', 'agent.log'),
  });
  const stop = async (): Promise<void> => {
    await group.stop({ termMs: 150_000 });
    await systemd[Symbol.asyncDispose]();
  };
  return {
    pid: group.pid,
    startedAt,
    ready: systemd.heard('READY=1'),
    exited: group.exited,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Writes credentials with the server's URL replaced, so that a meter can sit in between. */
export async function writeCredentials(file: string, json: string, appAddress: string): Promise<void> {
  const parsed = JSON.parse(json) as { cloud: Record<string, unknown> };
  await writeFile(file, JSON.stringify({ cloud: { ...parsed.cloud, app_address: appAddress } }), { mode: 0o600 });
}

/** Parses the `Environment=` lines of a unit, without quotes. */
export const unitEnvironment = (unitText: string): Record<string, string> =>
  Object.fromEntries(
    (/^Environment=(.*)$/m.exec(unitText)?.[1] ?? '').split(' ').map((word) => {
      const at = word.indexOf('=');
      return [word.slice(0, at), word.slice(at + 1)];
    }),
  );

export interface Use {
  /** MiB. */
  anonymous: number;
  resident: number;
  cpuSeconds: number;
  /** Voluntary context switches of its threads. */
  sleeps: number;
  /** Bytes written to a disk. */
  written: number;
}

const ticksPerSecond = 100;

/** Returns the resources that a process has used since its start. */
export function useOf(pid: number): Use {
  const number = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const sleeps = readdirSync(`/proc/${pid}/task`)
    .map((task) =>
      number(readFileSync(`/proc/${pid}/task/${task}/status`, 'utf8'), /^voluntary_ctxt_switches:\s+(\d+)/m),
    )
    .reduce((sum, count) => sum + count, 0);
  return {
    anonymous: number(status, /^RssAnon:\s+(\d+)/m) / 1024,
    resident: number(status, /^VmRSS:\s+(\d+)/m) / 1024,
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
    sleeps,
    written: number(readFileSync(`/proc/${pid}/io`, 'utf8'), /^write_bytes:\s+(\d+)/m),
  };
}
