import assert from 'node:assert/strict';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { spawnGroup } from '@platform/kit/node';
import { type TempFolder, tempFolder } from '@platform/kit/testing';
import { type CloudReady, startCloud } from '../../../e2e/src/cloud-process.ts';
import { checkout, cleanEnv } from '../../../e2e/src/up-process.ts';

export { checkout };

/** Sources of the Python client. */
export const clientFolder = path.join(checkout, 'clients', 'python');
/** Tests in Python of whole stories. */
export const storyFolder = import.meta.dirname;

/** The Python that the full tests install; without it they fail. */
export function pythonProgram(): string {
  const program = process.env['PLATFORM_TEST_PYTHON'];
  assert.ok(
    program,
    'PLATFORM_TEST_PYTHON names no Python with tools/python/requirements.txt installed: run the tests with `npm run test:full -- clients`, which makes one',
  );
  return program;
}

/** Runs Python to its end. @returns what it printed. Fails with that when Python fails. */
export async function python(args: readonly string[], env: Record<string, string>, cwd: string): Promise<string> {
  const group = await spawnGroup({
    command: pythonProgram(),
    args: [...args],
    env: cleanEnv({
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONPATH: path.join(clientFolder, 'src'),
      NODE: process.execPath,
      ...env,
    }),
    cwd,
  });
  const [stdout, stderr, { code, signal }] = await Promise.all([
    group.stdout ? text(group.stdout) : '',
    group.stderr ? text(group.stderr) : '',
    group.exited,
  ]);
  const said = `${stdout}${stderr}`;
  assert.equal(code, 0, `python ${args.join(' ')} ended with ${code ?? signal}:\n${said.slice(-12_000)}`);
  return said;
}

/** Runs tests in Python. @returns how many passed; a test that was left out is a failure. */
export async function pytest(files: readonly string[], env: Record<string, string>, cwd: string): Promise<number> {
  const said = await python(['-m', 'pytest', '-q', '--tb=short', '-p', 'no:cacheprovider', ...files], env, cwd);
  const summary = said.trim().split('\n').at(-1) ?? '';
  assert.match(summary, /^\d+ passed in /, `not all tests ran: ${summary}`);
  return Number.parseInt(summary, 10);
}

export interface Place extends AsyncDisposable {
  readonly ready: CloudReady;
  /** What the tests in Python know of it. */
  readonly env: Record<string, string>;
}

/** A management server and a runner with the built-in trainers, as processes. */
export async function startPlace(): Promise<Place> {
  await using undo = new AsyncDisposableStack();
  const cloud = undo.use(await startCloud());
  const { ready } = cloud;
  const folder: TempFolder = undo.use(await tempFolder());
  const runner = await spawnGroup({
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      path.join(checkout, 'apps', 'runner', 'src', 'main.ts'),
      '--folder',
      folder.path,
    ],
    env: cleanEnv({
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
  const env = {
    PLATFORM_URL: ready.url,
    PLATFORM_API_KEY_ID: ready.api_key_id,
    PLATFORM_API_KEY: ready.api_key,
    ORG_ID: ready.org_id,
  };
  const owned = undo.move();
  return { ready, env, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
