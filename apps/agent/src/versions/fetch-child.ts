import type { Writable } from 'node:stream';
import { isErrorCode, PlatformError, type ErrorData } from '@platform/contract/errors/errors';
import { errorText, type Log } from '@platform/kit';
import { spawnGroup } from '@platform/kit/node';
import type { ExpiredDocument } from './trust/refresh.ts';
import type { Fetched, Fetcher, FetchTask, Progress } from './fetch-ports.ts';

// Downloads, signatures and patches run in a process of their own, which ends with the file. An idle agent does not
// hold their memory, and their code cannot stop it. The process reads its task from stdin and writes JSON lines to
// stdout.

type ChildMessage =
  | { is: 'progress'; progress: Progress }
  | { is: 'late'; document?: ExpiredDocument }
  | { is: 'log'; level: 'debug' | 'info' | 'warn' | 'error'; message: string; fields: Record<string, unknown> }
  | { is: 'fetched'; fetched: Fetched }
  | { is: 'failed'; code: string; text: string; data: ErrorData };

export interface FetchOrder {
  root: string;
  appAddress: string;
  /** PEM of an authority that is trusted for the management server, in addition to those of the system. */
  authority?: string;
  task: FetchTask;
}

const lineLimit = 64 * 1024;
const endMs = 5_000;

/** Fetches with `command`, which is this program with its command `fetch`. */
export function childFetcher(of: {
  command: string;
  args: readonly string[];
  env: Record<string, string | undefined>;
  root: string;
  appAddress: string;
  authority?: string | undefined;
  /** See DeviceFetchParts. */
  late: (document: ExpiredDocument | undefined) => void;
  log: Log;
}): Fetcher {
  const { command, args, env, root, appAddress, authority, late, log } = of;
  return {
    async fetch(task, tell, signal) {
      signal.throwIfAborted();
      const child = await spawnGroup({ command, args, env, stdin: 'pipe' });
      const stop = (): void => void child.stop({ termMs: endMs });
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      let isOver = false;
      let end: Extract<ChildMessage, { is: 'fetched' | 'failed' }> | undefined;
      try {
        const lastWords = collected(child.stderr);
        await hand(child.stdin, { root, appAddress, ...(authority !== undefined && { authority }), task });
        for await (const message of readMessages(child.stdout)) {
          if (message.is === 'progress') tell(message.progress);
          else if (message.is === 'late') late(message.document);
          else if (message.is === 'log') log[message.level](message.message, message.fields);
          else end = message;
        }
        const { code, signal: by } = await child.exited;
        isOver = true;
        signal.throwIfAborted();
        if (end?.is === 'fetched') return end.fetched;
        if (end?.is === 'failed' && isErrorCode(end.code))
          throw new PlatformError(end.code, end.data, new Error(end.text));
        const problem = end?.text ?? `its process ended (${by ?? code}) ${(await lastWords).trim().slice(-300)}`;
        throw new PlatformError('DOWNLOAD_FAILED', { url: task.url, problem });
      } finally {
        signal.removeEventListener('abort', stop);
        if (!isOver) child.signal('SIGKILL'); // it must not outlive the call
      }
    },
  };
}

/** The child's side: reads the order from stdin, does the work and reports. Returns 0 if the fetch succeeded. */
export async function runFetchChild(
  input: AsyncIterable<Uint8Array>,
  say: (line: string) => void,
  work: (
    order: FetchOrder,
    on: { log: Log; tell: (progress: Progress) => void; late: (document: ExpiredDocument | undefined) => void },
  ) => Promise<Fetched>,
): Promise<number> {
  const tell = (message: ChildMessage): void => say(JSON.stringify(message));
  const log = logTo(tell);
  try {
    const order = JSON.parse(await text(input)) as FetchOrder;
    const fetched = await work(order, {
      log,
      tell: (progress) => tell({ is: 'progress', progress }),
      late: (document) => tell({ is: 'late', ...(document && { document }) }),
    });
    tell({ is: 'fetched', fetched });
    return 0;
  } catch (error) {
    const known = error instanceof PlatformError ? error : undefined;
    tell({ is: 'failed', code: known?.code ?? '', text: errorText(error), data: known?.data ?? {} });
    return 1;
  }
}

function logTo(tell: (message: ChildMessage) => void): Log {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: Record<string, unknown> = {}) =>
      tell({ is: 'log', level, message, fields });
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log };
  return log;
}

function hand(stdin: Writable | null, order: FetchOrder): Promise<void> {
  return new Promise((resolve) => {
    stdin?.on('error', () => resolve()); // the child ended at once: its exit is reported
    stdin?.end(JSON.stringify(order), () => resolve());
  });
}

async function* readMessages(stdout: AsyncIterable<Buffer> | null): AsyncGenerator<ChildMessage> {
  let rest = '';
  for await (const chunk of stdout ?? []) {
    rest += chunk.toString('utf8');
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > lineLimit) throw new Error('the process that downloads says too long a line');
    for (const line of lines) {
      const message = parseMessage(line);
      if (message) yield message;
    }
  }
}

/** Lines in another format are ignored. */
function parseMessage(line: string): ChildMessage | undefined {
  try {
    const message = JSON.parse(line) as ChildMessage;
    return typeof message === 'object' && message !== null && typeof message.is === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}

async function collected(stream: AsyncIterable<Buffer> | null): Promise<string> {
  let all = '';
  for await (const chunk of stream ?? []) all = (all + chunk.toString('utf8')).slice(-4096);
  return all;
}

async function text(input: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of input) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
