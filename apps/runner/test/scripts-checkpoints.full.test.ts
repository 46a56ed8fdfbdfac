/** Checkpoints of training scripts: kept between the attempts of a job, seen by no other job, removed with the job. */
import assert from 'node:assert/strict';
import { readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { oneStage } from './one-stage.ts';
import { QueueServer, type QueuedJob } from './queue-server.ts';
import { end, start } from './runner-program.ts';
import { begin, packed, save, setup, type Stage } from './script-stage.ts';

const { at, assertHealthy, failed } = oneStage();
const limits = { wall_seconds: 60, memory_mib: 512, disk_mib: 32 };

/** Counts to three, an epoch per attempt, and waits in each but the last. */
const training = `
kept = os.environ["PLATFORM_CHECKPOINT_DIR"]
file = os.path.join(kept, "state.json")
epoch = json.load(open(file))["epoch"] if os.path.exists(file) else 0
say("resumed from", epoch)
def keep(*_):
    json.dump({"epoch": epoch + 1}, open(file + ".part", "w")); os.replace(file + ".part", file)
if epoch < 2:
    signal.signal(signal.SIGTERM, lambda *_: (keep(), sys.exit(0)))
    if epoch == 0: keep()
    say("waiting", epoch)
    while True: time.sleep(0.1)
${save}`;

test('they survive a kill of the runner and an ordered stop, and go with the end of the job', async () => {
  await using folder = await tempFolder();
  await using server = new QueueServer();
  server.isRetrying = true;
  const url = await server.start();
  const archive = await packed({ 'setup.py': setup, 'model/__init__.py': '', 'model/training.py': begin + training });
  const script = { registry_item_id: 'org:script', version: '1', package_sha256: server.store(archive) };
  const job = server.submit({ kind: 'custom', script, limits });
  const messages = (): string[] => job.logs.map(({ message }) => message);

  const killed = start(url, folder.path);
  await server.until('the first attempt', () => messages().includes('waiting 0'));
  await end(killed, 'SIGKILL');
  const stopped = start(url, folder.path);
  await server.until('the second attempt', () => messages().includes('waiting 1'));
  await end(stopped, 'SIGTERM');
  assert.equal(job.state, 'pending');
  assert.deepEqual(await readdir(folder.file('jobs')), []);
  const last = start(url, folder.path);
  await server.until('completed', () => job.state === 'completed');
  await end(last, 'SIGTERM');
  assert.deepEqual(
    messages().filter((line) => line.startsWith('resumed')),
    ['resumed from 0', 'resumed from 1', 'resumed from 2'],
  );
  assert.ok(messages().includes('An earlier attempt left checkpoints (12 B).'), messages().join('\n'));
  assert.deepEqual(await readdir(folder.file('checkpoints')), []);
});

const store = (s: Stage): string => path.join(s.root, 'checkpoints');
/** The runner loses the job and leases it again. */
async function again(s: Stage, job: QueuedJob, line: string): Promise<QueuedJob> {
  await s.server.until(line, () => job.logs.some(({ message }) => message === line));
  s.server.takeAway(job);
  job.state = 'pending';
  return s.ended(job);
}

test('a job sees nothing of another one, and its end removes them, however it ends', async () => {
  const s = at();
  const look = `
kept = os.environ["PLATFORM_CHECKPOINT_DIR"]
say("kept", kept, os.listdir(kept), os.stat(kept).st_uid == os.getuid())
open(kept + "/mine", "w").write("x")
say("saved")
`;
  const ends = [save, 'sys.exit(3)', 'while True: time.sleep(0.1)'];
  const jobs: QueuedJob[] = [];
  for (const how of ends) jobs.push(await s.submit(look + how, { id: `job/../../${jobs.length}` }));
  const last = jobs.at(-1);
  assert.ok(last);
  await s.server.until('saved', () => last.logs.some(({ message }) => message === 'saved'));
  assert.equal((await readdir(store(s))).length, 1);
  assert.equal((await stat(store(s))).mode & 0o777, 0o700);
  s.server.cancel(last);
  for (const job of jobs) {
    await s.ended(job);
    assert.ok(s.lines(job).includes('info kept /job/checkpoints [] True'), s.lines(job).join('\n'));
  }
  assert.deepEqual(
    jobs.map(({ state }) => state),
    ['completed', 'failed', 'canceled'],
  );
  await assertHealthy();
  assert.deepEqual(await readdir(store(s)), []);
});

test('links out of them, names that no terminal should print, and rights of files: harmless to the next attempt and to the host', async () => {
  const s = at();
  const secret = s.folder.file('secret');
  await writeFile(secret, 'a secret of the host', { mode: 0o600 });
  const before = await stat(secret);
  const hostile = `
os.chdir(os.environ["PLATFORM_CHECKPOINT_DIR"])
if not os.path.lexists("link"):
    for name, target in (("link", "${secret}"), ("root", "/"), ("folder", "${s.root}"), ("up", "../../..")): os.symlink(target, name)
    open("a\\n\\x1b[31mb\\u202e", "w").write("x"); open(b"\\xff", "w").close()
    os.mkfifo("pipe"); os.makedirs("shut/in"); open("shut/in/x", "w").write("x"); os.chmod("shut", 0)
    for source in ("/job/data/" + os.listdir("/job/data")[0], "/usr/bin/python3", "/etc/passwd"):
        try: os.link(source, "hard"); say("linked", source)
        except OSError: pass
    open("program", "w").write("x"); os.chmod("program", 0o6755)
    say("saved")
    while True: time.sleep(0.1)
for name in ("link", "folder"):
    try: say("read", name, open(name).read() if name == "link" else os.listdir(name))
    except OSError: pass
os.chmod("shut", 0o755); say("own", open("shut/in/x").read(), open("a\\n\\x1b[31mb\\u202e").read())
open("shut/in/x", "a").write("y")
say("setuid", oct(os.stat("program").st_mode & 0o6000))
${save}`;
  const job = await again(s, await s.submit(hostile), 'saved');
  assert.equal(job.state, 'completed', job.failure?.message);
  const lines = s.lines(job);
  assert.ok(lines.includes('info own x x') && lines.includes('info setuid 0o0'), lines.join('\n'));
  assert.deepEqual(
    lines.filter((line) => /info (linked|read)/.test(line)),
    [],
  );
  assert.ok(!job.logs.some(({ message }) => /[\u001b\u202e]/.test(message)));
  const after = await stat(secret);
  assert.deepEqual([after.uid, after.mode, after.ctimeMs], [before.uid, before.mode, before.ctimeMs]);
  await assertHealthy();
  assert.deepEqual(await readdir(store(s)), []);
});

test('they count as disk, with those of earlier attempts', async () => {
  const s = at();
  const filling = `
os.chdir(os.environ["PLATFORM_CHECKPOINT_DIR"])
if not os.path.exists("first"):
    open("first", "wb").write(b"x" * 20 * 2**20)
    say("saved")
    while True: time.sleep(0.1)
open("second", "wb").write(b"x" * 20 * 2**20)
time.sleep(30)`;
  const job = await again(s, await s.submit(filling), 'saved');
  assert.equal(job.failure?.code, 'SCRIPT_DISK_LIMIT');
  assert.match(job.failure?.message ?? '', /wrote 40 MiB; the limit is 32 MiB/);
  await assertHealthy();
  await failed(
    await s.submit(`
for name in ("a", "b"): open("checkpoints/" + name, "wb").write(b"x" * 17 * 2**20)
time.sleep(30)`),
    'SCRIPT_DISK_LIMIT',
    /32 MiB/,
  );
});
