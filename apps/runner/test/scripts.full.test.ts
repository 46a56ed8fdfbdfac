/** Training scripts as people write them, in real sandboxes: what they can do, what they cannot, and what is left of them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { leftovers, packed, save, setup, spoiled, stage, type Stage } from './script-stage.ts';
import type { QueuedJob } from './queue-server.ts';

// One runner for all: whatever a script did, the next one finds it healthy.
const shared: { stage?: Stage } = {};
const at = (): Stage => {
  assert.ok(shared.stage);
  return shared.stage;
};
before(async () => {
  shared.stage = await stage();
});
after(async () => {
  await shared.stage?.[Symbol.asyncDispose]();
});

/** A good script runs, and nothing of those before it is left. */
async function assertHealthy(s: Stage = at()): Promise<void> {
  const job = await s.ended(await s.submit(`say("fine")${save}`));
  assert.equal(job.state, 'completed', job.failure?.message);
  // The folder goes after the last word.
  await s.server.untilAsync(
    'the end of the folder',
    async () => (await readdir(path.join(s.root, 'jobs'))).length === 0,
  );
  assert.deepEqual(await leftovers(s), []);
}
async function failed(job: QueuedJob, code: string, message: RegExp, cause = 'script'): Promise<void> {
  await at().ended(job);
  assert.deepEqual([job.state, job.failure?.cause, job.failure?.code], ['failed', cause, code], job.failure?.message);
  assert.match(job.failure?.message ?? '', message);
  assert.equal(job.attempt, 1, 'a script that fails is not tried again');
  await assertHealthy();
}

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
  assert.deepEqual(report['seen'], ['picture 0', 'picture 1', 'picture 2']);
  assert.equal(report['relative'], 'picture 0');
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
    HOME: '/tmp/home',
    LANG: 'C.UTF-8',
    OMP_NUM_THREADS: String(s.scripts.options.cpus),
    PATH: '/usr/local/bin:/usr/bin:/bin',
    PLATFORM_BASE_URL: s.url,
    PLATFORM_JOB_ID: job.spec.id,
    PLATFORM_ORG_ID: 'org',
    PWD: '/job',
    PYTHONPATH: '/job/src',
    PYTHONUNBUFFERED: '1',
    TMPDIR: '/tmp',
    VIAM_BASE_URL: s.url,
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

test('a fork bomb is held by its number of processes, and all of it ends', async () => {
  const training = `
say("begin")
children = 0
while True:
    try:
        if os.fork() == 0:
            while True:
                try: os.fork()
                except OSError: time.sleep(0.1)
        children += 1
    except OSError as error:
        say("stopped at", children, error)
        sys.exit(9)
`;
  const job = await at().submit(training);
  await failed(job, 'SCRIPT_FAILED', /exit code 9[\s\S]*Resource temporarily unavailable/);
});
test('it fills the disk through its output: ended at the limit', async () => {
  const training = `
for i in range(1000):
    open(f"{out}/{i}", "wb").write(b"x" * 2**20)
    time.sleep(0.005)
time.sleep(30)`;
  await failed(await at().submit(training), 'SCRIPT_DISK_LIMIT', /the limit is 32 MiB/);
});
test('it fills the disk with files that have no name: ended at the limit', async () => {
  const training = `
keep = []
for i in range(60):
    f = open(f"{out}/x", "wb"); os.unlink(f"{out}/x"); keep.append(f)
    f.write(b"x" * 2**20); f.flush()
time.sleep(30)`;
  await failed(await at().submit(training), 'SCRIPT_DISK_LIMIT', /the limit is 32 MiB/);
});
test('it writes one huge file: ended at the limit', async () => {
  const training = `
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
f = open(out + "/big", "wb")
while True: f.write(b"x" * 2**20)`;
  await failed(await at().submit(training), 'SCRIPT_DISK_LIMIT', /the limit is 32 MiB/);
});
test('it makes a file in each moment: ended at the limit of their number', async () => {
  const training = `
for i in range(10**9): open(f"{out}/{i}", "w").close()`;
  await failed(await at().submit(training), 'SCRIPT_DISK_LIMIT', /the limit is 20000 files/);
});
test('it fills /tmp and /dev/shm: no room is left there, and none of the disk is taken', async () => {
  const training = `
for place in ("/tmp", "/dev/shm"):
    try:
        with open(place + "/big", "wb") as f:
            for i in range(100): f.write(b"x" * 2**20)
    except OSError as error: say(place, error.errno)
    os.unlink(place + "/big")
for i in range(40):
    try: open(f"/tmp/{i}", "wb").write(b"x" * 2**20)
    except OSError as error: say("many", error.errno); break
sys.exit(1)`;
  await failed(await at().submit(training), 'SCRIPT_FAILED', /\/tmp (27|28)\n\/dev\/shm (27|28)\nmany 28/);
});
test('it opens the network: there is none', async () => {
  const port = new URL(at().url).port;
  const training = `
import socket
for address in (("127.0.0.1", ${port}), ("10.0.0.1", 80), ("8.8.8.8", 53)):
    s = socket.socket(); s.settimeout(3)
    try:
        s.connect(address); say("connected", address)
    except OSError as error: say("refused", error.errno)
say([line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]])
sys.exit(4)`;
  const job = await at().submit(training);
  await failed(job, 'SCRIPT_FAILED', /exit code 4/);
  const lines = at().lines(job);
  assert.ok(!lines.some((line) => line.includes('connected')), lines.join('\n'));
  assert.ok(lines.includes("info ['lo']"));
});
test('it ignores SIGTERM: it is killed after its grace', async () => {
  const s = at();
  const training = `
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"no\\n"))
if os.fork() == 0: os.setsid()
else: say("ready")
while True: time.sleep(1)`;
  const job = await s.submit(training);
  await s.server.until('ready', () => job.logs.some(({ message }) => message === 'ready'));
  s.server.cancel(job);
  await s.ended(job);
  assert.equal(job.state, 'canceled');
  assert.ok(s.lines(job).includes('info no'));
  await assertHealthy();
});
test('it heeds SIGTERM: it saves and ends, and no model is published', async () => {
  const s = at();
  const training = `
def stop(*_):
    os.write(1, b"saving\\n")${save.replaceAll('\n', '\n    ')}
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
say("ready")
while True: time.sleep(0.1)`;
  const job = await s.submit(training);
  await s.server.until('ready', () => job.logs.some(({ message }) => message === 'ready'));
  s.server.cancel(job);
  await s.ended(job);
  assert.deepEqual([job.state, job.files], ['canceled', []]);
  assert.ok(s.lines(job).includes('info saving'));
  await assertHealthy();
});
test('it prints 1 GB: the log stays small and says so', async () => {
  const training = `
line = "x" * 1023 + "\\n"
chunk = line * 1024
for i in range(1024): sys.stdout.write(chunk)
sys.stdout.flush()
say("the end")
sys.exit(7)`;
  const job = await at().submit(training, { limits: { wall_seconds: 120, memory_mib: 512, disk_mib: 32 } });
  await failed(job, 'SCRIPT_FAILED', /exit code 7[\s\S]*the end/);
  assert.ok(job.logs.length < 70_000, `${job.logs.length} lines`);
  assert.ok(
    job.logs.some(({ level, message }) => level === 'warn' && /were dropped/.test(message)),
    'says what was dropped',
  );
});
test('it exits 0 with no output: failed', async () => {
  await failed(await at().submit('say("done")'), 'SCRIPT_FAILED', /left no file in its output folder/);
});
test('it exits 0 with nothing but a link, a pipe and scratch files: failed, and each is named', async () => {
  const training = `
os.symlink("/etc/passwd", out + "/model.onnx"); os.mkfifo(out + "/pipe")
os.mkdir(out + "/tmp"); open(out + "/tmp/x", "w").close()`;
  await failed(await at().submit(training), 'SCRIPT_FAILED', /"model\.onnx" is a link.*"pipe" is no regular file/);
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
test('it takes too much memory: out of memory, with the limit', async () => {
  const job = await at().submit('x = [bytearray(10**7) for i in range(10**4)]');
  await failed(job, 'OUT_OF_MEMORY', /limit is 512 MiB/);
});
test('its children take too much memory together: out of memory', async () => {
  const training = `
import subprocess
code = "import time; x = bytearray(150 * 2**20)\\nfor i in range(0, len(x), 4096): x[i] = 1\\ntime.sleep(3)"
children = [subprocess.Popen([sys.executable, "-c", code]) for i in range(6)]
sys.exit(max(abs(child.wait()) for child in children))`;
  await failed(await at().submit(training), 'OUT_OF_MEMORY', /limit is 512 MiB/);
});
/** A child that takes more than the whole script may have. */
const greedyChild = `
import subprocess
code = "x = bytearray(900 * 2**20)\\nfor i in range(0, len(x), 4096): x[i] = 1"
child = subprocess.run([sys.executable, "-c", code])
say("the child ended with", child.returncode)
`;
test('one child is killed for memory, the script gives up: out of memory, with limit and peak', async () => {
  const job = await at().submit(`${greedyChild}\nsys.exit(1)`);
  await failed(
    job,
    'OUT_OF_MEMORY',
    /used [2-5]\d\d MiB of memory; its limit is 512 MiB: the kernel killed one of its/,
  );
});
test('one child is killed for memory, the script goes on without: a line says so', async () => {
  const job = await at().ended(await at().submit(`${greedyChild}${save}`));
  assert.equal(job.state, 'completed', job.failure?.message);
  assert.ok(
    at()
      .lines(job)
      .some((line) =>
        /^warn OUT_OF_MEMORY: .* its limit is 512 MiB: the kernel killed one of its processes/.test(line),
      ),
  );
});
test('one child is killed for memory, and there is no result: out of memory', async () => {
  await failed(await at().submit(greedyChild), 'OUT_OF_MEMORY', /the kernel killed one of its processes/);
});
test('an allocation that no limit would allow: out of memory', async () => {
  await failed(await at().submit('x = bytearray(2**60)'), 'OUT_OF_MEMORY', /512 MiB: an allocation was refused/);
});
test('it takes too long: timed out', async () => {
  const limits = { wall_seconds: 1, memory_mib: 512, disk_mib: 32 };
  await failed(await at().submit('time.sleep(100)', { limits }), 'TRAINING_TIMED_OUT', /limit of 1 s/);
});
test('it writes outside: everything but its output and /tmp is read-only', async () => {
  const training = `
for place in ("/", "/usr", "/etc", "/job", "/job/src", "/job/data", "/dev", "/proc/sys/kernel", "/sys"):
    try: open(place + "/evil", "w"); say("wrote", place)
    except OSError: pass
for file in ("/job/dataset.jsonl", "/job/src/setup.py", "/etc/passwd", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/usr/bin/python3"):
    try: open(file, "a"); say("wrote", file)
    except OSError: pass
for picture in os.listdir("/job/data"):
    for act in (os.unlink, lambda f: os.chmod(f, 0o777), lambda f: open(f, "a")):
        try: act("/job/data/" + picture); say("changed", picture)
        except OSError: pass
sys.exit(5)`;
  const job = await at().submit(training);
  await failed(job, 'SCRIPT_FAILED', /exit code 5/);
  assert.deepEqual(
    at()
      .lines(job)
      .filter((line) => /wrote|changed/.test(line)),
    [],
  );
});
test('it looks for the secrets of the runner: other processes, variables, homes and folders are not there', async () => {
  const training = `
say("pids", len([p for p in os.listdir("/proc") if p.isdigit()]) < 6)
for p in [p for p in os.listdir("/proc") if p.isdigit()]:
    for name in ("environ", "cmdline"):
        try: text = open(f"/proc/{p}/{name}").read()
        except OSError: continue
        if "PLATFORM_RUNNER_TOKEN" in text or "key-id:key" in text: say("found in", p)
say("seen", [d for d in ("/root", "/home", "/var", "/opt", "/mnt", "/srv", "/run", "/boot", "/etc/shadow", "/etc/ssh", "${at.name}", "/job/job.json", "/job/events.ndjson") if os.path.exists(d)])
say("top", sorted(os.listdir("/")))
say("job", sorted(os.listdir("/job")))
try: os.listdir("/proc/1/root"); say("found root")
except OSError: pass
try: os.setuid(0); say("found root")
except OSError: pass
sys.exit(6)`;
  const job = await at().submit(training);
  await failed(job, 'SCRIPT_FAILED', /exit code 6/);
  const lines = at().lines(job);
  assert.deepEqual(
    lines.filter((line) => line.includes('found')),
    [],
  );
  assert.ok(lines.includes('info pids True') && lines.includes('info seen []'), lines.join('\n'));
  assert.ok(lines.includes("info job ['data', 'dataset.jsonl', 'out', 'src']"), lines.join('\n'));
});
test('it asks the kernel for more: user namespaces, keyrings and other doors are shut', async () => {
  const training = `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(*words):
    ctypes.set_errno(0)
    return libc.syscall(*words), ctypes.get_errno()
say("unshare", call(272, 0x10000000))
say("keyctl", call(250, 0, -3, 0))
say("bpf", call(321, 0, 0, 0))
say("mount", libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
sys.exit(8)`;
  const job = await at().submit(training);
  await failed(job, 'SCRIPT_FAILED', /exit code 8/);
  for (const line of ['info unshare (-1, 1)', 'info keyctl (-1, 1)', 'info bpf (-1, 1)', 'info mount -1']) {
    assert.ok(at().lines(job).includes(line), at().lines(job).join('\n'));
  }
});
test('it opens sockets of all kinds: unix and the internet open, nothing else does', async () => {
  const training = `
import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    ctypes.set_errno(0)
    return ctypes.get_errno() if libc.syscall(number, *words) == -1 else 0
numbers = {"x86_64": (41, 53), "aarch64": (198, 199)}[os.uname().machine]
say("sockets", sorted({(f, e) for f in range(48) for e in [call(numbers[0], f, t, 0) for t in (1, 2, 3, 5)] if e != 97}))
say("pairs", sorted({f for f in range(48) if call(numbers[1], f, 1, 0, (ctypes.c_int * 2)()) != 97}))
say("io_uring", [call(n, 0, 0, 0, 0) for n in (425, 426, 427)])
sys.exit(9)`;
  const job = await at().submit(training);
  await failed(job, 'SCRIPT_FAILED', /exit code 9/);
  const lines = at().lines(job);
  const found = lines.find((line) => line.startsWith('info sockets')) ?? '';
  // Unknown types and raw sockets are refused by the kernel itself, for its own reasons.
  assert.deepEqual(
    [...new Set([...found.matchAll(/\((\d+), \d+\)/g)].map(([, family]) => Number(family)))],
    [1, 2, 10],
  );
  for (const open of ['(1, 0)', '(2, 0)', '(10, 0)']) assert.ok(found.includes(open), found);
  assert.ok(lines.includes('info io_uring [1, 1, 1]') && lines.includes('info pairs [1, 2, 10]'), lines.join('\n'));
});
test('what Python needs of sockets works without the others', async () => {
  const training = `
import asyncio, ctypes, multiprocessing, socket, threading
def square(x): return x * x
if __name__ == "__main__":
    say("pool", multiprocessing.Pool(2).map(square, [1, 2, 3]))
    with multiprocessing.Manager() as manager: say("manager", dict(manager.dict(a=1)))
    asyncio.run(asyncio.sleep(0))
    say("addresses", socket.getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM)[0][4])
    say("name", socket.gethostname(), socket.getfqdn())
    try: socket.getaddrinfo("example.org", 80)
    except socket.gaierror: say("no such host")
    try: say(socket.if_nameindex())
    except OSError as error: say("interfaces", error.errno)
    libc = ctypes.CDLL(None, use_errno=True)
    say("getifaddrs", libc.getifaddrs(ctypes.byref(ctypes.c_void_p())), ctypes.get_errno())
    ${save.trim()}`;
  const job = await at().ended(await at().submit(training));
  assert.equal(job.state, 'completed', job.failure?.message);
  const lines = at().lines(job);
  for (const line of [
    'info pool [1, 4, 9]',
    "info manager {'a': 1}",
    "info addresses ('127.0.0.1', 80)",
    'info no such host',
    'info interfaces 97',
    'info getifaddrs -1 97',
  ]) {
    assert.ok(lines.includes(line), lines.join('\n'));
  }
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
test('a container that this runner lacks is named with those it has', async () => {
  const job = await at().submit(save, { container_version: 'tf:2.16' });
  await failed(job, 'CONTAINER_NOT_FOUND', /"tf:2\.16"; there are: py:3\.11/, 'infrastructure');
});
test('a package that is not there: pip’s words in the log, and the remedy', async () => {
  const files = { 'setup.py': setup.replace('[]', '["no-such-package-anywhere==1.0"]') };
  const job = await at().submit(save, {}, files);
  await failed(
    job,
    'SCRIPT_BUILD_FAILED',
    /No matching distribution found for no-such-package-anywhere==1\.0.*--wheelhouse/,
  );
  assert.ok(
    at()
      .lines(job)
      .some((line) => line.startsWith('error ERROR: Could not find a version')),
    at().lines(job).join('\n'),
  );
});
test('requirements that are an address or an option of pip: refused', async () => {
  for (const wanted of ['evil @ file:///job/src', '--index-url=http://evil', '-r /etc/passwd', 'git+https://x/y']) {
    const files = { 'setup.py': setup.replace('[]', JSON.stringify([wanted])) };
    await failed(
      await at().submit(save, {}, files),
      'SCRIPT_BUILD_FAILED',
      /is not the name of a package|setup\.py|could not be read/,
    );
  }
});
test('setup.py is foreign code, too: it runs in the sandbox, and its failure is the script’s', async () => {
  const files = {
    'setup.py': 'import os\nprint("I am", os.getuid(), os.listdir("/job"))\nraise RuntimeError("broken setup")',
  };
  const job = await at().submit(save, {}, files);
  await failed(job, 'SCRIPT_BUILD_FAILED', /broken setup/);
  assert.ok(
    at()
      .lines(job)
      .some((line) => /I am 19\d+ \['build', 'src'\]/.test(line)),
    at().lines(job).join('\n'),
  );
});
test('canceled while setup.py hangs: canceled, and nothing is left', async () => {
  const s = at();
  const files = { 'setup.py': 'import time\nprint("building", flush=True)\ntime.sleep(100)' };
  const job = await s.submit(save, {}, files);
  await s.server.until('building', () => job.logs.some(({ message }) => message === 'building'));
  s.server.cancel(job);
  await s.ended(job);
  assert.equal(job.state, 'canceled');
  await assertHealthy();
});
