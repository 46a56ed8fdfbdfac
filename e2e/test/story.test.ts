import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { plainEnvironment, isAlive, spawnGroup } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { checkout, dataFolder, runCli, startUp } from '../src/up-process.ts';

const steps = ['release', 'machine', 'dataset', 'train', 'deploy', 'predict'];

/** Finds pids whose command line names the folder: no process of a data folder may outlive an orderly end. */
function processesOf(folder: string): string[] {
  const ps = spawnSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).stdout;
  return ps.split('\n').filter((line) => line.includes(folder) && !line.includes('ps -eo'));
}

test('the small story: once, verified step by step, and again from what is there', async () => {
  await using folder = await dataFolder();
  for (const round of ['first', 'second']) {
    const up = await startUp(folder.path, '--once', '--small');
    const answer = await up.answer;
    const { code } = await up.group.exited;
    assert.equal(code, 0, `${round} round: ${await up.stderr}`);
    assert.ok(answer);
    assert.equal(answer['ok'], true);
    assert.deepEqual(
      (answer['steps'] as { step: string; ok: boolean }[]).map((one) => [one.step, one.ok]),
      steps.map((step) => [step, true]),
    );
    assert.equal(answer['held_out_images'], 20);
    assert.equal(answer['model_version'], '1', 'a second start trains nothing again');
    assert.equal(answer['images'], 60);
    assert.deepEqual(processesOf(folder.path), []);
  }
});

test('--empty: one JSON line, the command line works with it, Ctrl-C ends everything', async () => {
  await using folder = await dataFolder();
  const up = await startUp(folder.path, '--empty');
  const ready = await up.answer;
  assert.ok(ready, await Promise.race([up.stderr, Promise.resolve('no line')]));
  assert.deepEqual(Object.keys(ready).toSorted(), [
    'api_key',
    'api_key_id',
    'data_dir',
    'local_url',
    'org_id',
    'port',
    'ready',
    'sign_in_url',
    'url',
  ]);
  const env = {
    PLATFORM_URL: String(ready['url']),
    PLATFORM_API_KEY_ID: String(ready['api_key_id']),
    PLATFORM_API_KEY: String(ready['api_key']),
  };

  const created = await runCli(env, 'machine', 'create', 'barn', '--json');
  assert.equal(created.code, 0, created.stderr);
  const machine = JSON.parse(created.stdout) as {
    machine_id: string;
    part_id: string;
    credentials: { cloud: Record<string, string> };
  };
  assert.deepEqual(Object.keys(machine.credentials.cloud).toSorted(), ['app_address', 'id', 'secret']);
  assert.equal(machine.credentials.cloud['id'], machine.part_id);

  const list = JSON.parse((await runCli(env, 'machine', 'list', '--json')).stdout) as {
    name: string;
    online_state: string;
  }[];
  assert.deepEqual(
    list.map((one) => [one.name, one.online_state]),
    [['barn', 'awaiting setup']],
  );

  await using files = await tempFolder();
  const good = files.file('good.json');
  await writeFile(good, JSON.stringify({ agent: { advanced_settings: { debug: true } } }));
  const bad = files.file('bad.json');
  await writeFile(
    bad,
    JSON.stringify({
      agent: { advanced_settings: { debug: 'yes' }, network_configuration: { user_idle_minutes: -1 } },
    }),
  );
  const saved = await runCli(env, 'config', 'set', 'barn', good, '--json');
  assert.equal(saved.code, 0, saved.stderr);
  assert.equal((JSON.parse(saved.stdout) as { revision: number }).revision, 1);
  const refused = await runCli(env, 'config', 'set', 'barn', bad);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /agent\.advanced_settings\.debug/);
  assert.match(refused.stderr, /agent\.network_configuration\.user_idle_minutes/);
  const kept = JSON.parse((await runCli(env, 'config', 'get', 'barn', '--json')).stdout) as {
    revision: number;
    config: unknown;
  };
  assert.deepEqual(kept, { ...kept, revision: 1, config: { agent: { advanced_settings: { debug: true } } } });

  const key = JSON.parse((await runCli(env, 'key', 'create', 'ci', '--json')).stdout) as {
    api_key_id: string;
    api_key: string;
  };
  assert.equal(
    (await runCli({ ...env, PLATFORM_API_KEY_ID: key.api_key_id, PLATFORM_API_KEY: key.api_key }, 'machine', 'list'))
      .code,
    0,
  );
  const wrong = await runCli({ ...env, PLATFORM_API_KEY: 'wrong' }, 'machine', 'list');
  assert.equal(wrong.code, 3, wrong.stderr);
  assert.match(wrong.stderr, /INVALID_CREDENTIALS/);
  assert.equal((await runCli(env, 'machine', 'show', 'nowhere')).code, 4);
  assert.equal((await runCli(env, 'machine', 'explode')).code, 2);

  const second = await startUp(folder.path, '--empty');
  assert.equal(await second.answer, undefined);
  assert.equal((await second.group.exited).code, 1);
  assert.match(await second.stderr, /DATA_DIR_IN_USE/);

  up.group.signal('SIGINT');
  assert.equal((await up.group.exited).code, 0);
  assert.ok(!isAlive(up.group));
  assert.deepEqual(processesOf(folder.path), []);
});

test('a used port is refused with its remedy', async () => {
  await using one = await dataFolder();
  await using two = await dataFolder();
  const up = await startUp(one.path, '--empty');
  const url = new URL(String((await up.answer)?.['url']));
  const other = await startUp(two.path, '--empty', '--port', url.port);
  assert.equal(await other.answer, undefined);
  assert.notEqual((await other.group.exited).code, 0);
  const errors = await other.stderr;
  assert.match(errors, new RegExp(`PORT_IN_USE[^]*${url.port}[^]*--port`));
  up.group.signal('SIGTERM');
  await up.group.exited;
});

test('npm is stopped, or killed: what it started ends too, and the next start goes on', async () => {
  await using folder = await dataFolder();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const) {
    const npm = await spawnGroup({
      command: 'npm',
      args: ['-s', 'start', '--', '--empty', '--own-platform-only', '--json', '--port', '0', '--data-dir', folder.path],
      env: plainEnvironment(),
      cwd: checkout,
    });
    assert.ok(npm.stdout);
    const [line] = (await once(createInterface({ input: npm.stdout }), 'line')) as [string];
    assert.equal((JSON.parse(line) as { ready: boolean }).ready, true);
    process.kill(npm.pid, signal);
    await npm.exited;
    // The next start waits for the previous one to end.
    const next = await startUp(folder.path, '--empty');
    assert.ok(await next.answer, `after ${signal}: ${await Promise.race([next.stderr, Promise.resolve('')])}`);
    next.group.signal('SIGTERM');
    assert.equal((await next.group.exited).code, 0);
    assert.deepEqual(processesOf(folder.path), [], `after ${signal}`);
  }
});
