/** Training scripts as users write them, in real sandboxes: what they see, what becomes of their output, and how they fail. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { oneStage } from './one-stage.ts';
import { packed, save, spoiled } from './script-stage.ts';

const { at, assertHealthy, failed } = oneStage();

test('a script sees its dataset, its arguments and its variables, and its files become the model', async () => {
  const s = at();
  const job = await s.submit(
    `
say("hello", *rest)
print("careful", file=sys.stderr, flush=True)
lines = [json.loads(line) for line in open(args.dataset_file)]
seen = [open(line["image_path"]).read() for line in lines]
relative = open(os.path.relpath(lines[0]["image_path"])).read()
say(json.dumps({"epoch": 1, "loss": 0.5, "stage": "all"}))
say(json.dumps({"progress": 0.5, "eta_s": 2}))
time.sleep(1)
os.makedirs(out + "/tmp"); open(out + "/tmp/scratch", "w").write("x")
os.makedirs(out + "/saved/variables"); open(out + "/saved/variables/0", "w").write("v")
json.dump({"seen": seen, "relative": relative, "env": dict(os.environ), "cwd": os.getcwd(), "line": lines[0], "argv": sys.argv[1:], "uid": os.getuid()}, open(out + "/report.json", "w"))
`,
    { arguments: { epochs: '3', label: 'a b; $(rm -rf /) "ü"' } },
  );
  await s.ended(job);
  assert.equal(job.state, 'completed', job.failure?.message);
  assert.deepEqual(
    job.files.map(({ path: name }) => name),
    ['report.json', 'saved/variables/0'],
  );
  const report = JSON.parse(s.file(job, 'report.json') ?? '') as Record<string, unknown>;
  assert.deepEqual(report['seen'], ['image 0', 'image 1', 'image 2']);
  assert.equal(report['relative'], 'image 0');
  assert.deepEqual(report['argv'], [
    '--dataset_file=/job/dataset.jsonl',
    '--model_output_directory=/job/out',
    '--epochs=3',
    '--label=a b; $(rm -rf /) "ü"',
  ]);
  assert.notEqual(report['uid'], 0);
  assert.deepEqual(report['env'], {
    API_KEY: 'script-key',
    API_KEY_ID: 'script-key-id',
    HF_HOME: '/job/.home/.cache/huggingface',
    HOME: '/job/.home',
    KERAS_HOME: '/job/.home/.keras',
    LANG: 'C.UTF-8',
    MPLCONFIGDIR: '/job/.home/.config/matplotlib',
    NUMBA_CACHE_DIR: '/job/.home/.cache/numba',
    OMP_NUM_THREADS: String(s.scripts.options.cpus),
    PATH: '/usr/local/bin:/usr/bin:/bin',
    PLATFORM_BASE_URL: s.url,
    PLATFORM_CHECKPOINT_DIR: '/job/checkpoints',
    PLATFORM_JOB_ID: job.spec.id,
    PLATFORM_ORG_ID: 'org',
    PWD: '/job',
    PYTHONPATH: '/job/src',
    PYTHONUNBUFFERED: '1',
    TMPDIR: '/job/.tmp',
    TORCH_HOME: '/job/.home/.cache/torch',
    VIAM_BASE_URL: s.url,
    XDG_CACHE_HOME: '/job/.home/.cache',
    XDG_CONFIG_HOME: '/job/.home/.config',
    XDG_DATA_HOME: '/job/.home/.local/share',
    YOLO_CONFIG_DIR: '/job/.home/.config',
  });
  assert.match(String((report['line'] as { image_path: string }).image_path), /^\/job\/data\/[0-9a-f]{64}\.jpg$/);
  assert.deepEqual(job.metrics, [{ epoch: 1, loss: 0.5, stage: 'all' }]);
  assert.ok(job.progress.some((one) => one > 0.4 && one < 0.6));
  const lines = s.lines(job);
  assert.ok(lines.includes('info hello --epochs=3 --label=a b; $(rm -rf /) "ü"'), lines.join('\n'));
  assert.ok(lines.includes('error careful'));
  assert.ok(
    lines.some((line) =>
      /^info Sandbox: bubblewrap with .*512 MiB of memory, 512 processes.*32 MiB of disk, no network/.test(line),
    ),
  );
  await assertHealthy();
});

test('what a script prints is there while it runs', async () => {
  const s = at();
  const job = await s.submit(`say("waiting")\nwhile True: time.sleep(1)`);
  await s.server.until('the line', () => job.logs.some(({ message }) => message === 'waiting'));
  assert.equal(job.state, 'in_progress');
  s.server.cancel(job);
  await s.ended(job);
  await assertHealthy();
});

test('a project in one top folder with pyproject.toml', async () => {
  const files = {
    'my-script/pyproject.toml': '[project]\nname = "x"\nversion = "1"\ndependencies = []\n',
    'my-script/model/training.py': `import sys; open(sys.argv[2].split("=")[1] + "/m", "w").write("m")`,
  };
  const job = await at().ended(at().submitArchive(await packed(files)));
  assert.equal(job.state, 'completed', job.failure?.message);
});

test('path traversal in the archive: refused, nothing is written outside', async () => {
  const archive = await spoiled((folder) => writeFile(`${folder}/evil`, 'x'), ['--transform', 's|^a/evil|../../evil|']);
  await failed(at().submitArchive(archive), 'SCRIPT_ARCHIVE_INVALID', /leads out of the archive/);
  assert.ok(!existsSync(path.join(at().root, 'jobs', 'evil')) && !existsSync(path.join(at().root, 'evil')));
});
test('a link in the archive: refused', async () => {
  const archive = await spoiled((folder) => symlink('/etc/shadow', `${folder}/model/data`));
  await failed(at().submitArchive(archive), 'SCRIPT_ARCHIVE_INVALID', /symbolic link.*a\/model\/data/);
});
test('a compression bomb: refused at the limit', async () => {
  const archive = await spoiled(async (folder) => execFileSync('truncate', ['-s', '300M', `${folder}/zeros`]));
  assert.ok(archive.length < 2 ** 20);
  await failed(at().submitArchive(archive), 'SCRIPT_ARCHIVE_INVALID', /larger than 100 MiB/);
});
test('no module: refused with its name', async () => {
  const archive = await spoiled((folder) => rm(`${folder}/model`, { recursive: true }));
  await failed(at().submitArchive(archive), 'SCRIPT_ARCHIVE_INVALID', /no a\/model\/training\.py/);
});
test('an archive that is none: refused', async () => {
  await failed(at().submitArchive(Buffer.from('not a gzip')), 'SCRIPT_ARCHIVE_INVALID', /not a \.tar\.gz/);
});
test('it exits 0 with no output: failed', async () => {
  await failed(await at().submit('say("done")'), 'SCRIPT_FAILED', /left no file in its output folder/);
});
test('it exits 0 with nothing but a link, a pipe and scratch files: failed, and each is named', async () => {
  const training = `
os.symlink("/etc/passwd", out + "/model.onnx"); os.mkfifo(out + "/pipe")
os.mkdir(out + "/tmp"); open(out + "/tmp/x", "w").close()`;
  await failed(await at().submit(training), 'SCRIPT_FAILED', /"model\.onnx" is a link.*"pipe" is not a regular file/);
});
test('links and odd names beside a model are left out with a line', async () => {
  const s = at();
  const training = `${save}
os.symlink("/job/src", out + "/link"); open(out + "/a\\nb", "w").close(); open(out.encode() + b"/\\xff", "w").close()
os.makedirs(out + "/shut"); open(out + "/shut/x", "w").write("x"); os.chmod(out + "/shut/x", 0); os.chmod(out + "/shut", 0)`;
  const job = await s.ended(await s.submit(training));
  assert.equal(job.state, 'completed', job.failure?.message);
  assert.deepEqual(
    job.files.map(({ path: name }) => name),
    ['model.onnx', 'shut/x'],
  );
  assert.equal(s.lines(job).filter((line) => line.startsWith('warn Left out of the result')).length, 3);
  await assertHealthy();
});
test('it makes folders too deep for a path: they are left out, and removed', async () => {
  const s = at();
  const training = `${save}
os.chdir(out)
for i in range(3000): os.mkdir("dddd"); os.chdir("dddd")`;
  const job = await s.ended(await s.submit(training));
  assert.equal(job.state, 'completed', job.failure?.message);
  await assertHealthy();
});
test('it exits 3: failed with the code and its last lines', async () => {
  const job = await at().submit(`
for i in range(30): say("line", i)
sys.exit(3)`);
  await failed(job, 'SCRIPT_FAILED', /exit code 3[\s\S]*line 10\n[\s\S]*line 29$/);
  assert.ok(!/line 9\n/.test(job.failure?.message ?? ''));
});
test('it raises: the traceback is in the log and in the failure', async () => {
  await failed(
    await at().submit(`raise ValueError("the labels are gone")`),
    'SCRIPT_FAILED',
    /ValueError: the labels are gone$/,
  );
});
test('it ends by a signal: named', async () => {
  await failed(await at().submit('os.kill(os.getpid(), signal.SIGSEGV)'), 'SCRIPT_FAILED', /ended by SIGSEGV/);
});
test('unicode output arrives as it is; binary output and terminal codes as readable text', async () => {
  const s = at();
  const training = `${save}
say("größe 模型 🚂")
sys.stdout.buffer.write(bytes(range(256)) + b"\\n"); sys.stdout.flush()
say("\\x1b[31mred\\x1b[0m")
for i in range(5): sys.stderr.write(f"\\r{i * 25}%")
sys.stderr.write("\\n")
sys.stdout.write("no end of line")`;
  const job = await s.ended(await s.submit(training));
  assert.equal(job.state, 'completed', job.failure?.message);
  const lines = s.lines(job);
  for (const line of ['info größe 模型 🚂', 'info red', 'error 100%', 'info no end of line'])
    assert.ok(lines.includes(line), lines.join('\n'));
  assert.ok(!job.logs.some(({ message }) => /[\u0000-\u0008\u001b]/.test(message)));
});
