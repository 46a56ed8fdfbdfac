// Keys and sign-in links appear only in the output of `npm start`. Covers restarts and rotation.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { createPlatformClient } from '@platform/client';
import { systemClock } from '@platform/kit/node';
import { dataFolder, startUp, type UpProcess } from '../src/up-process.ts';

type Json = Record<string, string>;
const jsonOf = (...file: string[]): Json => JSON.parse(readFileSync(path.join(...file), 'utf8')) as Json;

/**
 * Finds files below the folder that contain one of the secrets, with their mode. The processes that own them run:
 * a file that they remove or rename meanwhile holds nothing any more.
 */
function filesWith(folder: string, secrets: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (!entry.isFile()) continue;
    try {
      const bytes = readFileSync(file);
      if (secrets.some((secret) => bytes.includes(secret))) found.set(path.relative(folder, file), statSync(file).mode);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return found;
}

/** Finds processes whose command line or environment contains one of the secrets. */
function processesWith(secrets: readonly string[]): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) =>
      ['cmdline', 'environ'].flatMap((what) => {
        try {
          const text = readFileSync(`/proc/${pid}/${what}`);
          return secrets.some((secret) => text.includes(secret)) ? [`${pid} ${what}`] : [];
        } catch {
          return []; // it ended, or belongs to another user
        }
      }),
    );
}

/** Every file that may contain a secret; only its owner can read it. */
const keptIn = new Set([
  'cloud/secrets.json',
  'cloud/first-run.json',
  'connection.json',
  'runner-options.json',
  'demo-machine/platform.json',
  'demo-machine/state/credentials.last-good',
]);

function assertHidden(folder: string, secrets: readonly string[], when: string): void {
  for (const [file, mode] of filesWith(folder, secrets)) {
    assert.ok(keptIn.has(file), `${when}: ${file} holds a secret`);
    assert.equal(mode & 0o777, 0o600, `${when}: ${file}`);
  }
  assert.deepEqual(processesWith(secrets), [], when);
}

const tokenIn = (url: unknown): string => new URL(String(url)).searchParams.get('token') ?? '';
const clientOf = (ready: Json) =>
  createPlatformClient({
    baseUrl: ready['url'] ?? '',
    credentials: { type: 'api-key', authEntity: ready['api_key_id'] ?? '', payload: ready['api_key'] ?? '' },
  });

async function readyOf(up: UpProcess): Promise<Json> {
  const answer = await up.answer;
  assert.ok(answer, await Promise.race([up.stderr, Promise.resolve('no line')]));
  return answer as Json;
}

async function stop(up: UpProcess): Promise<string> {
  up.group.signal('SIGINT');
  await up.group.exited;
  return up.stderr;
}

/** Kills the management server, and waits until it is restarted. */
async function killServer(folder: string, { url = '' }: Json): Promise<void> {
  const pid = (): number | undefined =>
    (
      JSON.parse(readFileSync(path.join(folder, 'run.json'), 'utf8')) as { children: { name: string; pid: number }[] }
    ).children.find(({ name }) => name === 'cloud')?.pid;
  const before = pid();
  assert.ok(before !== undefined);
  const link = jsonOf(folder, 'cloud', 'first-run.json')['sign_in_url'];
  process.kill(before, 'SIGKILL');
  while (jsonOf(folder, 'cloud', 'first-run.json')['sign_in_url'] === link) await systemClock.sleep(50);
  while (!(await fetch(`${url}/healthz`).catch(() => undefined))?.ok) await systemClock.sleep(50);
}

test('keys and links stand in files of mode 0600 alone: start, crash, rotation, restart, new keys', async () => {
  await using folder = await dataFolder();
  const running: UpProcess[] = [];
  await using _ends = {
    [Symbol.asyncDispose]: async () => void (await running.at(-1)?.group.stop({ termMs: 30_000 })),
  };
  const start = async (...args: string[]): Promise<UpProcess> => {
    const up = await startUp(folder.path, ...args);
    running.push(up);
    return up;
  };
  let up = await start('--small');
  const first = await readyOf(up);
  assert.equal(first['story'], true, JSON.stringify(first));
  const kept = jsonOf(folder.path, 'cloud', 'first-run.json');
  assert.deepEqual([kept['api_key'], kept['sign_in_url']], [first['api_key'], first['sign_in_url']]);
  const made = JSON.parse(readFileSync(folder.file('cloud', 'secrets.json'), 'utf8')) as Record<string, string>;
  const machine = JSON.parse(readFileSync(folder.file('demo-machine', 'platform.json'), 'utf8')) as {
    cloud: { secret: string };
  };
  const secrets = [
    first['api_key'] ?? '',
    kept['runner_key'] ?? '',
    tokenIn(first['sign_in_url']),
    made['signing_key'] ?? '',
    made['sealing_key'] ?? '',
    machine.cloud.secret,
  ];
  assert.ok(secrets.every((secret) => secret.length > 20));
  assertHidden(folder.path, secrets, 'started');

  await killServer(folder.path, first);
  secrets.push(tokenIn(jsonOf(folder.path, 'cloud', 'first-run.json')['sign_in_url']));
  assertHidden(folder.path, secrets, 'server killed and started again');

  const app = clientOf(first).appClient;
  await app.rotateKey({ id: kept['runner_key_id'] ?? '' });
  secrets.push((await app.rotateKey({ id: first['api_key_id'] ?? '' })).key);
  assertHidden(folder.path, secrets, 'rotated');
  await stop(up);

  up = await start('--empty');
  const second = await readyOf(up);
  secrets.push(tokenIn(second['sign_in_url']));
  assert.deepEqual([second['api_key'], second['api_key_id']], [null, first['api_key_id']]);
  assert.equal(jsonOf(folder.path, 'connection.json')['api_key'], undefined);
  const { origin, pathname, search } = new URL(second['sign_in_url'] ?? '');
  const form = { method: 'POST', body: new URLSearchParams(search), redirect: 'manual' } as const;
  assert.equal((await fetch(`${origin}${pathname}`, form)).status, 303);
  assertHidden(folder.path, secrets, 'started with dead keys');
  const laterOutput = await stop(up);
  assert.match(laterOutput, /first API key was rotated or deleted.*npm start -- --new-keys/);
  assert.match(laterOutput, /runner's key was rotated or deleted/);
  assert.ok(!laterOutput.includes(first['api_key'] ?? ''), 'a dead key is printed');

  up = await start('--empty', '--new-keys');
  const third = await readyOf(up);
  secrets.push(third['api_key'] ?? '', tokenIn(third['sign_in_url']));
  await clientOf(third).appClient.listOrganizations({});
  await killServer(folder.path, third);
  await clientOf(third).appClient.listOrganizations({});
  assertHidden(folder.path, secrets, 'new keys');
  await stop(up);
});
