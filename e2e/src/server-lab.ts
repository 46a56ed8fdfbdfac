// A real management server as a process for kills and restarts, with a connection to its database.
import { createInterface } from 'node:readline';
import { type ProcessGroup, systemClock } from '@platform/kit/node';
import type { TempFolder } from '@platform/kit/testing';
import { Client as SqlClient } from 'pg';
import { type CloudReady, readyOf } from './cloud-process.ts';
import { postmasterOf } from './end-state.ts';

export abstract class ServerLab implements AsyncDisposable {
  readonly folder: TempFolder;
  #running: { group: ProcessGroup; ready: CloudReady; answers: AsyncIterator<string> } | undefined;
  #sql: SqlClient | undefined;
  /** The same port after each start, so that clients can reconnect. */
  #port = '0';

  protected constructor(folder: TempFolder) {
    this.folder = folder;
  }
  /** Starts the server's program with these arguments. */
  protected abstract launch(args: readonly string[]): Promise<ProcessGroup>;

  get ready(): CloudReady {
    if (!this.#running) throw new Error('the server is not running');
    return this.#running.ready;
  }
  get pid(): number {
    return this.#running?.group.pid ?? 0;
  }

  async start(): Promise<void> {
    const args = ['--data-dir', this.folder.file('cloud'), '--port', this.#port, '--log-level', 'error'];
    const group = await this.launch(args);
    group.stderr?.pipe(process.stderr, { end: false });
    const answers = createInterface({ input: group.stdout! })[Symbol.asyncIterator]();
    const line = await answers.next();
    if (line.done) throw new Error('the server ended before it was ready');
    const ready = readyOf(line.value);
    this.#running = { group, ready, answers };
    this.#port = new URL(ready.url).port;
  }
  /** Kills the server as a power cut would; the database keeps running. */
  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.group.signal('SIGKILL');
    await running?.group.exited;
  }
  /** Writes a line to its stdin and waits for the answer line. */
  protected async tell(line: string): Promise<void> {
    this.#running?.group.stdin?.write(`${line}\n`);
    await this.#running?.answers.next();
  }

  async sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        this.#sql ??= await this.#connect();
        return (await this.#sql.query<T>(text, values)).rows;
      } catch (error) {
        this.#sql = undefined;
        // The connection dies with the database; retry until the database is up again.
        if (attempt > 200) throw error;
        await systemClock.sleep(50);
      }
    }
  }
  async #connect(): Promise<SqlClient> {
    const at = postmasterOf(this.folder.path);
    const client = new SqlClient({ host: at?.socketFolder ?? '', port: 5432, user: 'platform', database: 'platform' });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sql?.end().catch(() => {});
    await this.#running?.group.stop({ termMs: 20_000 });
    await this.folder[Symbol.asyncDispose]();
  }
}
