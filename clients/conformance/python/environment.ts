import assert from 'node:assert/strict';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { plainEnvironment, type ProcessGroup, spawnGroup } from '@platform/kit/node';
import { type TempFolder, tempFolder } from '@platform/kit/testing';
import { type CloudReady, readyOf } from '../../../e2e/src/cloud-process.ts';
import { checkout, dataFolder } from '../../../e2e/src/up-process.ts';

export { checkout };

/** Sources of the Python client. */
export const clientFolder = path.join(checkout, 'clients', 'python');
/** End-to-end tests in Python. */
export const storyFolder = import.meta.dirname;

/** The Python that the full tests install; fails if it is missing. */
function pythonProgram(): string {
  const program = process.env['PLATFORM_TEST_PYTHON'];
  assert.ok(
    program,
    'PLATFORM_TEST_PYTHON names no Python with tools/python/requirements.txt installed: run the tests with `npm run test:full -- clients`, which makes one',
  );
  return program;
}

/** Runs Python to its end; `onLine` receives each line. @returns the output. Fails with the output if Python fails. */
export async function python(
  args: readonly string[],
  env: Record<string, string>,
  cwd: string,
  onLine: (line: string) => void = () => undefined,
): Promise<string> {
  const { stdout, stderr, exited } = await spawnGroup({
    command: pythonProgram(),
    args: [...args],
    env: plainEnvironment({
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONUNBUFFERED: '1',
      PYTHONPATH: path.join(clientFolder, 'src'),
      NODE: process.execPath,
      ...env,
    }),
    cwd,
  });
  assert.ok(stdout && stderr);
  createInterface({ input: stdout }).on('line', onLine);
  const [printed, complained, { code, signal }] = await Promise.all([text(stdout), text(stderr), exited]);
  const output = `${printed}${complained}`;
  assert.equal(code, 0, `python ${args.join(' ')} ended with ${code ?? signal}:\n${output.slice(-12_000)}`);
  return output;
}

/** Runs tests in Python. @returns the number of passed tests; a skipped test is a failure. */
export async function pytest(files: readonly string[], env: Record<string, string>, cwd: string): Promise<number> {
  const output = await python(['-m', 'pytest', '-q', '--tb=short', '-p', 'no:cacheprovider', ...files], env, cwd);
  const summary = output.trim().split('\n').at(-1) ?? '';
  assert.match(summary, /^\d+ passed in /, `not all tests ran: ${summary}`);
  return Number.parseInt(summary, 10);
}

/** A management server with its own data folder; a test can kill it and restart it at the same URL. */
export class Server implements AsyncDisposable {
  readonly #folder: TempFolder;
  readonly #flags: readonly string[];
  #group: ProcessGroup | undefined;
  #ready: CloudReady | undefined;

  private constructor(folder: TempFolder, flags: readonly string[]) {
    this.#folder = folder;
    this.#flags = flags;
  }
  static async open(...flags: string[]): Promise<Server> {
    const server = new Server(await dataFolder(), flags);
    try {
      await server.start();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }
  get ready(): CloudReady {
    assert.ok(this.#ready, 'the server is not running');
    return this.#ready;
  }

  /** Environment variables for Python programs. */
  get env(): Record<string, string> {
    const { ready } = this;
    return {
      PLATFORM_URL: ready.url,
      PLATFORM_API_KEY_ID: ready.api_key_id,
      PLATFORM_API_KEY: ready.api_key,
      ORG_ID: ready.org_id,
    };
  }

  async start(): Promise<void> {
    const main = path.join(checkout, 'apps', 'cloud', 'src', 'main.ts');
    const port = this.#ready ? new URL(this.#ready.url).port : '0';
    const flags = ['--data-dir', this.#folder.path, '--port', port, '--json', '--log-level', 'error'];
    const group = await spawnGroup({
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', main, ...flags, ...this.#flags],
      env: plainEnvironment(),
      cwd: checkout,
    });
    this.#group = group;
    group.stderr?.pipe(process.stderr, { end: false });
    assert.ok(group.stdout);
    const line = await createInterface({ input: group.stdout })[Symbol.asyncIterator]().next();
    if (line.done) throw new Error('the server ended before it was ready');
    this.#ready = readyOf(line.value);
  }
  /** Kills the server like a power cut; its database continues. */
  async kill(): Promise<void> {
    this.#group?.signal('SIGKILL');
    await this.#group?.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#group?.stop({ termMs: 20_000 });
    await this.#folder[Symbol.asyncDispose]();
  }
}

export interface Place extends AsyncDisposable {
  readonly server: Server;
  readonly env: Record<string, string>;
}

/** Starts a management server and a runner with the built-in trainers, as processes. */
export async function startPlace(): Promise<Place> {
  await using undo = new AsyncDisposableStack();
  const server = undo.use(await Server.open());
  const { ready } = server;
  const folder: TempFolder = undo.use(await tempFolder());
  const runner = await spawnGroup({
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      path.join(checkout, 'apps', 'runner', 'src', 'main.ts'),
      '--folder',
      folder.path,
    ],
    env: plainEnvironment({
      PLATFORM_URL: ready.url,
      PLATFORM_API_KEY_ID: ready.runner_key_id,
      PLATFORM_API_KEY: ready.runner_key,
    }),
    cwd: checkout,
    logFile: path.join(folder.path, 'runner.log'),
  });
  undo.defer(async () => {
    await runner.stop({ termMs: 20_000 });
  });
  const { env } = server;
  const owned = undo.move();
  return { server, env, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
