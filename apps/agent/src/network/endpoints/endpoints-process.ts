import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Clock } from '@platform/kit';
import { signalGroup } from '@platform/kit/node';
import type { Confinement } from './confinement.ts';

/** Descriptors of the child: its listening sockets, and the program itself. */
export const inherited = { portal: 3, rpc: 4, program: 5 } as const;

export interface EndpointProcess {
  readonly pid: number;
  readonly stdout: AsyncIterable<Buffer>;
  /** Resolves when the process has ended: how, with its last output on stderr. */
  readonly ended: Promise<string>;
  /** Whether the child takes what it is sent. */
  send(line: string): boolean;
  /** Ends the process: it sees the end of its input; after `killMs` it is killed. */
  stop(clock: Clock, killMs: number): Promise<void>;
  kill(): void;
}

const longestUnread = 4 * 1024 * 1024;
const stderrChars = 500;

/** Starts a process of the endpoints. @throws Error if it cannot be started */
export async function startEndpointProcess(of: {
  /** This program and its arguments. */
  command: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Undefined: it listens on none. */
  sockets: { portal: number; rpc: number } | undefined;
  confinement: Confinement;
}): Promise<EndpointProcess> {
  const [program = '', ...args] = of.command;
  // Opened here: the child's user may not be allowed to enter the folder of the program.
  const file = openSync(program, 'r');
  try {
    const { prefix, user } = of.confinement;
    const [first = '', ...rest] = [...prefix, `/proc/self/fd/${inherited.program}`, ...args];
    const child = spawn(first, rest, {
      stdio: ['pipe', 'pipe', 'pipe', of.sockets?.portal ?? 'ignore', of.sockets?.rpc ?? 'ignore', file],
      env: { ...of.env },
      cwd: '/',
      detached: true, // a process group, which is killed as a whole
      ...user,
    });
    return await started(child);
  } finally {
    closeSync(file);
  }
}

async function started(child: ChildProcess): Promise<EndpointProcess> {
  const { stdin, stdout, stderr } = child;
  const words = lastWords(stderr);
  const ended = new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, by) => {
      resolve([`it ended with ${by ?? code}`, words()].filter(Boolean).join(': '));
      for (const stream of [stdin, stdout, stderr]) stream?.destroy(); // a process that it started may hold them
    });
  });
  stdin?.on('error', () => {}); // its end is reported by the exit
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    ended.catch(reject);
  });
  const pid = child.pid ?? 0;
  // The kernel ends this process first when memory runs out.
  await writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => {});
  const kill = (): void => signalGroup(pid, 'SIGKILL');
  return {
    pid,
    stdout: (stdout ?? []) as AsyncIterable<Buffer>,
    ended,
    send(line) {
      stdin?.write(`${line}\n`);
      return (stdin?.writableLength ?? 0) < longestUnread;
    },
    async stop(clock, killMs) {
      stdin?.end();
      const late = new AbortController();
      await Promise.race([ended, clock.sleep(killMs, late.signal)]);
      late.abort();
      kill();
      await ended;
    },
    kill,
  };
}

/** The end of what the process writes on stderr, as one line. */
function lastWords(stream: Readable | null): () => string {
  let text = '';
  stream?.on('data', (chunk: Buffer) => (text = (text + chunk.toString('utf8')).slice(-stderrChars)));
  return () => text.replaceAll(/\p{Cc}+/gu, ' ').trim();
}

/** Memory of a process that no other process shares; undefined: not known. */
export async function anonymousBytes(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kib = /^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1];
  return kib === undefined ? undefined : Number(kib) * 1024;
}
