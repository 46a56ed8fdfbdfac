/** The working directory of training scripts: common libraries write there, it counts as disk, and it goes with the attempt. */
import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { oneStage } from './one-stage.ts';
import { save, stage } from './script-stage.ts';

const { at, assertHealthy, failed } = oneStage();

test('relative paths, the home folder and the folders of libraries can be written; nothing of it becomes the model', async () => {
  const s = at();
  const training = `
import pathlib, tempfile
for name in ("runs/train/exp/results.csv", "mlruns/0/meta.yaml", "checkpoint.pt", "größe 模型.keras"):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    open(name, "w").write("x")
open(pathlib.Path.home() / ".netrc", "w").write("x")
for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HF_HOME", "KERAS_HOME", "MPLCONFIGDIR", "NUMBA_CACHE_DIR", "TORCH_HOME", "YOLO_CONFIG_DIR"):
    os.makedirs(os.environ[name], exist_ok=True); open(os.environ[name] + "/x", "w").write("x")
say("temporary", os.path.dirname(tempfile.NamedTemporaryFile().name))
say("same disk", len({os.stat(place).st_dev for place in (".", os.environ["HOME"], tempfile.gettempdir())}))
say("cwd", os.getcwd(), oct(os.stat(".").st_mode), os.stat(".").st_uid == os.getuid())
say("links", open("data/" + os.listdir("data")[0]).read()[:5])
${save}`;
  const job = await s.ended(await s.submit(training));
  assert.equal(job.state, 'completed', job.failure?.message);
  assert.deepEqual(
    job.files.map(({ path: name }) => name),
    ['model.onnx'],
  );
  const lines = s.lines(job);
  for (const line of [
    'info temporary /job/.tmp',
    'info same disk 1',
    'info cwd /job 0o40755 True',
    'info links image',
  ]) {
    assert.ok(lines.includes(line), lines.join('\n'));
  }
  await assertHealthy();
});

test('each attempt begins with an empty working directory, and sees none of another job', async () => {
  const s = at();
  const look = `
say("found", [name for name in sorted(os.listdir(".")) if name not in ("checkpoints", "data", "dataset.jsonl", "out", "src")], os.listdir(".home"), os.listdir(".tmp"))
open("mine", "w").write("x"); open(".home/mine", "w").write("x"); open(".tmp/mine", "w").write("x")
${save}`;
  for (const _ of [1, 2]) {
    const job = await s.ended(await s.submit(look));
    assert.equal(job.state, 'completed', job.failure?.message);
    assert.ok(s.lines(job).includes("info found ['.home', '.tmp'] [] []"), s.lines(job).join('\n'));
  }
});

test('it fills the disk through its working directory: ended at the limit', async () => {
  const training = `
for i in range(1000):
    open(f"{i}", "wb").write(b"x" * 2**20)
    time.sleep(0.005)
time.sleep(30)`;
  await failed(await at().submit(training), 'SCRIPT_DISK_LIMIT', /the limit is 32 MiB/);
});
test('working directory, home folder and output count together', async () => {
  const training = `
for place in (".", os.environ["HOME"], os.environ["TMPDIR"], out):
    for i in range(9): open(f"{place}/{i}", "wb").write(b"x" * 2**20)
time.sleep(30)`;
  await failed(await at().submit(training), 'SCRIPT_DISK_LIMIT', /wrote 36 MiB; the limit is 32 MiB/);
});
test('files that have no name count once, wherever they are', async () => {
  const s = at();
  const training = `
keep = []
for i in range(20):
    f = open("x", "wb"); os.unlink("x"); keep.append(f)
    f.write(b"x" * 2**20); f.flush()
time.sleep(2)
${save}`;
  const job = await s.ended(await s.submit(training));
  assert.equal(job.state, 'completed', job.failure?.message);
});
test('links out of the working directory and names that no terminal should print: removed with it, and nothing else', async () => {
  const s = at();
  const training = `
for i, target in enumerate(("/", "/etc", "/job/data", "../../..", "${s.root}")): os.symlink(target, f"link{i}")
open("a\\n\\x1b[31mb\\u202e", "w").close(); open(b"\\xff", "w").close()
os.makedirs("shut/in"); os.chmod("shut", 0)
os.mkfifo("pipe")
for i in range(300): os.mkdir("d" * 100); os.chdir("d" * 100)
${save}`;
  const job = await s.ended(await s.submit(training));
  assert.equal(job.state, 'completed', job.failure?.message);
  assert.ok(!job.logs.some(({ message }) => /[\u001b\u202e]/.test(message)));
  await assertHealthy();
});

test("the operator's weights can be read and not written", async () => {
  await using folder = await tempFolder();
  await chmod(folder.path, 0o755);
  await writeFile(folder.file('a.safetensors'), 'weights', { mode: 0o644 });
  await using s = await stage(['--script-weights', folder.path]);
  const training = `
kept = os.environ["PLATFORM_WEIGHTS_DIR"]
say("weights", kept, open(kept + "/a.safetensors").read())
for act in (lambda: open(kept + "/b", "w"), lambda: open(kept + "/a.safetensors", "a"), lambda: os.unlink(kept + "/a.safetensors")):
    try: act(); say("changed")
    except OSError as error: say("refused")
${save}`;
  const job = await s.ended(await s.submit(training));
  assert.equal(job.state, 'completed', job.failure?.message);
  const seen = s.lines(job).filter((line) => /info (weights|changed|refused)/.test(line));
  assert.deepEqual(seen, ['info weights /job/weights weights', 'info refused', 'info refused', 'info refused']);
});
