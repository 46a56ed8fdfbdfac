// The command line against the real server and a real runner: from a folder of images to a model on the disk.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { createInterface } from 'node:readline';
import { composeObjects10, objectLabels } from '@platform/objects-10';
import { plainEnvironment, spawnGroup } from '@platform/kit/node';
import { smallPng, tempFolder } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { startRunner } from '../src/runner-process.ts';
import { checkout, runCli } from '../src/up-process.ts';

type Json = Record<string, unknown>;
interface Session {
  readonly env: Record<string, string>;
  readonly folder: string;
  cli(...args: string[]): ReturnType<typeof runCli>;
  /** Requires exit code 0. @returns the printed JSON document. */
  json<T = Json>(...args: string[]): Promise<T>;
}

const program = path.join(checkout, 'apps/cli/src/main.ts');
const labels = objectLabels.slice(0, 3);

async function writeImages(folder: string): Promise<void> {
  const composed = composeObjects10({ seed: 7, trainPerClass: 10, testPerClass: 2, objects: labels });
  for await (const { name, label, split, jpeg } of composed) {
    const place = path.join(folder, ...(split === 'test' ? ['test'] : []), label);
    await mkdir(place, { recursive: true });
    await writeFile(path.join(place, name), jpeg);
  }
}

async function uploads({ cli, json, folder }: Session): Promise<void> {
  const set = path.join(folder, 'images');
  await writeImages(set);
  const none = await cli('dataset', 'upload', 'things', set);
  assert.equal(none.code, 4);
  assert.match(none.stderr, /DATASET_NOT_FOUND/);
  const plan = await cli('dataset', 'upload', 'things', set, '--dry-run');
  assert.equal(plan.stdout, `36 images: ${labels.map((label) => `${label} 12`).join(', ')}.\n`);

  const first = await json('dataset', 'upload', 'things', set, '--create');
  assert.deepEqual([first['uploaded'], first['there_already']], [36, 0]);
  const again = await json('dataset', 'upload', 'things', set);
  assert.deepEqual([again['uploaded'], again['there_already'], again['dataset_id']], [0, 36, first['dataset_id']]);
  const shown = await json<{ images: number; labels: { label: string; images: number }[] }>(
    'dataset',
    'show',
    'things',
  );
  assert.equal(shown.images, 36);
  assert.deepEqual(
    shown.labels.filter((one) => !one.label.startsWith('split:')).map((one) => [one.label, one.images]),
    labels.map((label) => [label, 12]),
  );
}

async function editsImages({ cli, json, folder }: Session): Promise<void> {
  await json('dataset', 'create', 'few');
  assert.equal((await json('dataset', 'add', 'few', '--from', 'things', '--with-label', labels[0] ?? ''))['added'], 12);
  assert.equal((await json('dataset', 'tag', 'few', 'extra', '--file', '1'))['labels']?.toString(), 'extra');
  const tagged = await json<{ images: { id: string; tags: string[] }[] }>(
    'dataset',
    'images',
    'few',
    '--with-label',
    'extra',
  );
  assert.ok(tagged.images.length > 0 && tagged.images.every((one) => one.tags.includes('extra')));
  await json('dataset', 'untag', 'few', 'extra', '--all');
  const one = tagged.images[0]?.id ?? '';
  assert.equal((await json('dataset', 'remove', 'few', one))['removed'], 1);
  const refused = await cli('dataset', 'remove', 'few');
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /give image IDs, or one of --with-label/);

  const out = path.join(folder, 'export');
  assert.equal((await json('dataset', 'export', 'few', out))['images'], 11);
  assert.equal((await readdir(path.join(out, 'data'))).length, 11);
  const annotations = path.join(out, 'dataset.jsonl');
  const lines = (await readFile(annotations, 'utf8')).trim().split('\n');
  assert.deepEqual(
    new Set(lines.map((line) => (JSON.parse(line) as { image_path: string }).image_path.slice(0, 5))),
    new Set(['data/']),
  );
  const back = await json<{ uploaded: number; labels: Json }>(
    'dataset',
    'upload',
    'back',
    path.join(out, 'data'),
    '--annotations',
    annotations,
    '--create',
  );
  assert.equal(back.uploaded, 11);
  assert.deepEqual(back.labels[labels[0] ?? ''], { images: 11, boxes: 0 });
  await json('dataset', 'rename', 'back', 'front');
  await json('dataset', 'merge', 'both', 'few', 'front');
  for (const name of ['front', 'few', 'both']) await json('dataset', 'delete', name);
  assert.deepEqual(
    (await json<{ name: string }[]>('dataset', 'list')).map(({ name }) => name),
    ['things'],
  );
}

async function trains({ cli, json, env }: Session): Promise<void> {
  const wrong = await cli('train', 'submit', '--dataset', 'things', '--model-name', 'm', '--model-type', 'cat');
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--model-type is not valid: cat; one of single-label/);
  const submit = ['train', 'submit', '--dataset', 'things', '--model-name', 'things', '--model-type', 'single-label'];
  const done = await runCli(env, ...submit, '--model-version', '1', '--recipe', 'probe', '--wait');
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, /^Submitted things\/1 as a training job with ID [0-9a-f-]{36}\.\nLabels: /);
  // With fewer than 20 images, the score is a count.
  assert.match(done.stdout, /\nCompleted things\/1, accuracy \d of 6, \d+ (?:s|min)\n\nLABEL +PRECISION +RECALL +F1 +/);
  assert.match(done.stdout, /\nDownload it: platform model download things --version 1\n$/);
  assert.match(done.stderr, /\d+ %/);
  assert.doesNotMatch(done.stderr, /\r|\u001b/, 'nothing is redrawn where there is no terminal');

  const taken = await cli(...submit, '--model-version', '1');
  assert.equal(taken.code, 1);
  assert.match(taken.stderr, /MODEL_VERSION_TAKEN/);

  const job = await json<Json & { evaluation: { count: number } }>('train', 'get', 'things/1');
  assert.deepEqual([job['status'], job['model_name'], job['model_version']], ['completed', 'things', '1']);
  assert.equal(job.evaluation.count, 6, 'the images of test/ are held out');
  assert.equal((await json('train', 'wait', String(job['id'])))['status'], 'completed');
  const text = await cli('train', 'get', String(job['id']).slice(0, 8));
  assert.match(text.stdout, /^model +things\/1\nstatus +completed\nscore +accuracy /);
  const list = await cli('train', 'list', '--status', 'completed');
  assert.match(list.stdout, /^MODEL +VERSION +TYPE +STATUS +SCORE +CREATED +ID\nthings +1 +single label +completed/);

  const logs = await cli('train', 'logs', 'things');
  assert.match(logs.stdout, /^\d{4}-\S+Z INFO +36 images are here/);
  const followed = await cli('train', 'logs', '-f', 'things');
  assert.equal(followed.stdout, logs.stdout, 'the log of an ended job ends');
  const newest = await cli('train', 'logs', '-n', '1', 'things', '--json');
  const entries = newest.stdout.trim().split('\n');
  assert.equal(entries.length, 1);
  assert.deepEqual(Object.keys(JSON.parse(entries[0] ?? '') as Json), ['time', 'level', 'message']);
}

async function downloads({ cli, json, folder }: Session): Promise<void> {
  const models = await json<{ name: string; latest: string }[]>('model', 'list');
  assert.deepEqual(
    models.map((one) => [one.name, one.latest]),
    [['things', '1']],
  );
  const [version] = await json<{ version: string; sha256: string }[]>('model', 'versions', 'things');
  const out = path.join(folder, 'models');
  const file = path.join(out, 'things-1.tar.gz');
  const hash = async () =>
    createHash('sha256')
      .update(await readFile(file))
      .digest('hex');
  await json('model', 'download', 'things', '-o', out);
  assert.equal(await hash(), version?.sha256);

  const whole = await readFile(file);
  for (const [what, bytes] of [
    ['the beginning', whole.subarray(0, 5000)],
    ['all of it', whole],
    ['something else', Buffer.alloc(5000, 7)],
    ['more than all', Buffer.concat([whole, Buffer.alloc(10)])],
  ] as const) {
    await truncate(file, 10);
    await writeFile(`${file}.part`, bytes);
    await json('model', 'download', 'things', '--version', 'latest', '-o', out);
    assert.equal(await hash(), version?.sha256, `after a download that left ${what}`);
  }
  const unpacked = await json<{ files: string[]; folder: string }>(
    'model',
    'download',
    'things',
    '-o',
    out,
    '--unpack',
  );
  assert.ok(['labels.txt', 'things.onnx', 'evaluation.json'].every((name) => unpacked.files.includes(name)));
  assert.equal((await readFile(path.join(unpacked.folder, 'labels.txt'), 'utf8')).trim(), labels.join('\n'));
  assert.equal((await cli('model', 'download', 'things', '--version', '9', '-o', out)).code, 4);
}

/** A job that no runner can take waits forever, so the test can stop, cancel and delete it. */
async function stopsWaiting({ cli, json, env }: Session): Promise<void> {
  const submit = ['train', 'submit', '--dataset', 'things', '--model-type', 'single-label', '--gpus', '16'];
  const { id } = await json<{ id: string }>(...submit, '--model-name', 'stuck', '--model-version', 'a');
  const waiting = await spawnGroup({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', program, 'train', 'wait', 'stuck'],
    env: plainEnvironment(env),
    cwd: checkout,
  });
  assert.ok(waiting.stderr);
  const output: string[] = [];
  const lines = createInterface({ input: waiting.stderr });
  lines.on('line', (line) => output.push(line));
  const closed = new Promise((resolve) => lines.once('close', resolve));
  await new Promise((resolve) => lines.once('line', resolve));
  waiting.signal('SIGINT');
  assert.equal((await waiting.exited).code, 130);
  await closed;
  assert.match(output[0] ?? '', /^queued, .*GPU/);
  assert.match(output.join('\n'), new RegExp(`The job goes on\\.\n  follow it: platform train wait ${id}`));
  assert.equal((await json('train', 'get', 'stuck'))['status'], 'pending');

  await json(...submit, '--model-name', 'stuck', '--model-version', 'b');
  const ambiguous = await cli('train', 'cancel', 'stuck');
  assert.equal(ambiguous.code, 2);
  assert.match(ambiguous.stderr, /one job; 2 fit: stuck\/b, stuck\/a/);
  assert.equal((await json('train', 'cancel', 'stuck/a'))['status'], 'canceled');
  assert.equal(
    (await json('train', 'cancel', 'stuck'))['model_version'],
    'b',
    'the only one that can still be canceled',
  );
  const canceled = await cli('train', 'wait', 'stuck/a');
  assert.deepEqual([canceled.code, canceled.stdout], [6, '']);
  assert.match(canceled.stderr, /stuck\/a was canceled/);

  const page = await json<{ jobs: Json[]; next_page_token: string }>('train', 'list', '-n', '2');
  assert.deepEqual(
    page.jobs.map((job) => job['model_version']),
    ['b', 'a'],
  );
  const next = await json<{ jobs: Json[]; next_page_token: string }>(
    'train',
    'list',
    '--page-token',
    page.next_page_token,
  );
  assert.deepEqual(
    next.jobs.map((job) => job['model_name']),
    ['things'],
  );
  for (const name of ['stuck/a', 'stuck/b']) await json('train', 'delete', name);
  assert.equal((await cli('train', 'get', id)).code, 4);
}

/** A JPEG file with a header and without an image. */
const brokenImage = (text: string): Buffer =>
  Buffer.concat([Buffer.from('ffd8ffc0001108001000100301220002110103110100', 'hex'), Buffer.from(text)]);

async function failsOnBadData({ cli, folder }: Session): Promise<void> {
  const set = path.join(folder, 'bad');
  for (const label of ['a', 'b']) {
    await mkdir(path.join(set, label), { recursive: true });
    for (let n = 0; n < 10; n++) await writeFile(path.join(set, label, `${n}.png`), smallPng(`${label}${n}`));
  }
  await writeFile(path.join(set, 'a', 'cut.jpg'), brokenImage('a'));
  const uploaded = await cli('dataset', 'upload', 'bad', set, '--create');
  assert.equal(uploaded.code, 9, uploaded.stderr);
  assert.match(uploaded.stdout, /^Uploaded 20 images to dataset bad/m);
  assert.match(uploaded.stdout, /^Refused: .*cut\.jpg/m);
  const submit = ['train', 'submit', '--dataset', 'bad', '--model-name', 'bad', '--model-type', 'single-label'];
  const failed = await cli(...submit, '--arg', 'max_model_megabytes=1', '--wait', '--json');
  assert.equal(failed.code, 5, failed.stderr);
  const job = JSON.parse(failed.stdout) as { status: string; error: { cause: string } };
  assert.deepEqual([job.status, job.error.cause], ['failed', 'data']);
}

/** The warning comes with the submit, before anything is trained; a dataset without a score is refused. */
async function warnsOfGroups({ cli }: Session): Promise<void> {
  const submit = ['train', 'submit', '--dataset', 'bad', '--model-name', 'grouped', '--model-type', 'single-label'];
  assert.equal((await cli('dataset', 'tag', 'bad', 'group:left', '--with-label', 'a')).code, 0);
  const warned = await cli(...submit, '--gpus', '16');
  assert.equal(warned.code, 0, warned.stderr);
  assert.match(
    warned.stderr,
    /^Warning: No image of "a" is in the test: its images are in 1 group, and a group stays/m,
  );
  assert.equal((await cli('train', 'cancel', 'grouped')).code, 0);
  assert.equal((await cli('dataset', 'tag', 'bad', 'group:right', '--with-label', 'b')).code, 0);
  const refused = await cli(...submit);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /NOTHING_HELD_OUT.*each label has fewer than 3 groups/);
}

/** Names with bidirectional control characters: the server refuses them, and the output replaces the characters. */
async function showsHostileNames({ cli, json, folder }: Session): Promise<void> {
  const name = 'gpj.\u202Eexe \u2066x';
  for (const args of [
    ['create', name],
    ['show', name],
  ]) {
    const { stdout, stderr, code } = await cli('dataset', ...args);
    assert.notEqual(code, 0, args[0]);
    assert.doesNotMatch(stdout + stderr, /[\u202a-\u202e\u2066-\u2069]/);
    assert.match(stderr, /gpj\.\ufffdexe \ufffdx/);
  }
  // Files keep their original names.
  const set = path.join(folder, 'hostile');
  await mkdir(set);
  await writeFile(path.join(set, `${name}.png`), smallPng('hostile'));
  await json('dataset', 'upload', 'hostile', set, '--create');
  const listed = await json<{ images: { file_name: string }[] }>('dataset', 'images', 'hostile');
  assert.equal(listed.images[0]?.file_name, `${name}.png`, 'programs get the name as it is');
  const { stdout } = await cli('dataset', 'images', 'hostile');
  assert.doesNotMatch(stdout, /[\u202a-\u202e\u2066-\u2069]/);
  assert.match(stdout, /gpj\.\ufffdexe \ufffdx\.png/);
  const missing = await cli('dataset', 'show', 'a\u001b]0;x\u0007b\u009b31m');
  assert.equal(missing.code, 4);
  assert.doesNotMatch(missing.stderr, /(?!\n)\p{Cc}/u);
}

async function scriptsAndRunners({ cli, json, folder }: Session): Promise<void> {
  const script = path.join(folder, 'script');
  await mkdir(path.join(script, 'model'), { recursive: true });
  await writeFile(path.join(script, 'setup.py'), 'from setuptools import setup; setup(name="model")\n');
  await writeFile(path.join(script, 'model/__init__.py'), '');
  const incomplete = await cli('training-script', 'upload', '--path', script, '--name', 'mine');
  assert.equal(incomplete.code, 1);
  assert.match(incomplete.stderr, /SCRIPT_ARCHIVE_INVALID.*model\/training\.py/s);
  await writeFile(path.join(script, 'model/training.py'), 'print("hello")\n');
  const uploaded = await json('training-script', 'upload', '--path', script, '--name', 'mine', '--framework', 'onnx');
  assert.match(String(uploaded['version']), /^\d{13}$/);
  await json('training-script', 'upload', '--path', script, '--name', 'mine', '--version', 'second', '--draft');
  await json(
    'training-script',
    'update',
    'mine',
    '--description',
    'says hello',
    '--visibility',
    'public',
    '--no-draft',
  );
  const [mine] = await json<Json[]>('training-script', 'list');
  assert.deepEqual(
    [mine?.['name'], mine?.['visibility'], mine?.['draft'], mine?.['model_framework'], mine?.['description']],
    ['mine', 'public', false, 'onnx', 'says hello'],
  );
  const [runner] = await json<{ online: boolean; executor: string }[]>('runner', 'list');
  assert.deepEqual([runner?.online, runner?.executor], [true, 'local']);
  const keys = await json<{ name: string; roles: string[] }[]>('key', 'list');
  assert.ok(keys.some((one) => one.name === 'runner' && one.roles.join() === 'organization_runner'));
}

async function exitsAndCompletes({ cli, env }: Session): Promise<void> {
  const key = 'PLATFORM_API_KEY';
  const table: [number, Record<string, string>, string[]][] = [
    [0, env, ['help', 'exit-codes']],
    [0, env, ['train', 'submit', '--help']],
    [0, env, ['--version']],
    [2, env, ['train', 'submit']],
    [2, env, ['train', 'list', '--no-such-flag']],
    [2, {}, ['train', 'list', '--url', 'http://127.0.0.1:1']],
    [3, { ...env, [key]: 'wrong' }, ['train', 'list']],
    [4, env, ['train', 'get', 'nothing']],
    [7, { ...env, PLATFORM_URL: 'http://127.0.0.1:1' }, ['train', 'list']],
  ];
  const checks = table.map(async ([code, world, args]) => {
    const ended = await runCli(world, ...args);
    assert.equal(ended.code, code, `${args.join(' ')}: ${ended.stderr}`);
  });
  await Promise.all(checks);
  const asJson = await runCli({ ...env, PLATFORM_URL: 'http://127.0.0.1:1' }, 'train', 'list', '--json');
  assert.equal((JSON.parse(asJson.stderr) as { error: { code: string } }).error.code, 'OFFLINE');
  assert.equal(asJson.stdout, '');

  const words = async (...line: string[]) =>
    (await cli('complete', '--', ...line)).stdout.split('\n').map((one) => one.split('\t')[0]);
  assert.ok((await words('train', 'su')).includes('submit-custom'));
  assert.ok((await words('train', 'submit', '--dat')).includes('--dataset'));
  assert.ok((await words('dataset', 'show', '')).includes('things'));
  assert.ok((await words('train', 'get', 'thi')).includes('things/1'));
  assert.ok((await words('model', 'download', '')).includes('things'));
  const inBash = `
    platform() { '${process.execPath}' --disable-warning=ExperimentalWarning '${program}' "$@"; }
    source <(platform completion bash)
    COMP_WORDS=(platform dataset show "") COMP_CWORD=3
    _platform_complete
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const bash = spawnSync('bash', ['--norc', '-c', inBash], { env: plainEnvironment(env), encoding: 'utf8' });
  assert.ok(bash.stdout.split('\n').includes('things'), bash.stdout + bash.stderr);
  for (const shell of ['bash', 'zsh', 'fish'])
    assert.match((await cli('completion', shell)).stdout, /platform/, `completion for ${shell}`);
}

test('from a folder of images to a model on the disk, by the command line alone', async (t: TestContext) => {
  await using cloud = await startCloud();
  await using folder = await tempFolder();
  const env = {
    PLATFORM_URL: cloud.ready.url,
    PLATFORM_API_KEY_ID: cloud.ready.api_key_id,
    PLATFORM_API_KEY: cloud.ready.api_key,
  };
  const session: Session = {
    env,
    folder: folder.path,
    cli: (...args) => runCli(env, ...args),
    async json<T>(...args: string[]) {
      const { code, stdout, stderr } = await runCli(env, ...args, '--json');
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
      return JSON.parse(stdout) as T;
    },
  };
  const {
    api_key_id: runner_key_id,
    api_key: runner_key,
    command,
  } = await session.json<Record<string, string>>('runner', 'token');
  assert.equal(
    command,
    `PLATFORM_RUNNER_TOKEN=${runner_key_id}:${runner_key} npm run runner -- --url ${cloud.ready.url}`,
  );
  await using _runner = await startRunner({
    url: cloud.ready.url,
    runner_key_id: runner_key_id ?? '',
    runner_key: runner_key ?? '',
  });
  await t.test('images are uploaded, once', () => uploads(session));
  await t.test('images are chosen, labelled, exported and uploaded again', () => editsImages(session));
  await t.test('a job is submitted, followed and looked at', () => trains(session));
  await t.test('a model is downloaded, also after a download that was cut off', () => downloads(session));
  await t.test('Ctrl-C leaves the job; cancel and delete take the named one', () => stopsWaiting(session));
  await t.test('a job that fails has an exit code of its own', () => failsOnBadData(session));
  await t.test('a submit warns of labels without test images', () => warnsOfGroups(session));
  await t.test('names can not draw on the terminal', () => showsHostileNames(session));
  await t.test('scripts and runners', () => scriptsAndRunners(session));
  await t.test('exit codes and completion', () => exitsAndCompletes(session));
});
