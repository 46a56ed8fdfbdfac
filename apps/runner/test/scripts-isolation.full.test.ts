/** Training scripts that want out, in real sandboxes: network, files, other processes, kernel and sockets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneStage } from './one-stage.ts';
import { save } from './script-stage.ts';

const { at, failed } = oneStage();

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
test('it writes outside: everything but its working directory, its output and /tmp is read-only', async () => {
  const training = `
for place in ("/", "/usr", "/etc", "/job/src", "/job/data", "/dev", "/proc/sys/kernel", "/sys"):
    try: open(place + "/evil", "w"); say("wrote", place)
    except OSError: pass
for file in ("/job/dataset.jsonl", "/job/src/setup.py", "/etc/passwd", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/usr/bin/python3"):
    try: open(file, "a"); say("wrote", file)
    except OSError: pass
for name in ("src", "data", "dataset.jsonl", "out"):
    for act in (lambda f: os.rename(f, f + ".moved"), os.rmdir, os.unlink):
        try: act("/job/" + name); say("changed", name)
        except OSError: pass
for image in os.listdir("/job/data"):
    for act in (os.unlink, lambda f: os.chmod(f, 0o777), lambda f: open(f, "a")):
        try: act("/job/data/" + image); say("changed", image)
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
  const work = "info job ['.home', '.tmp', 'checkpoints', 'data', 'dataset.jsonl', 'out', 'src']";
  assert.ok(lines.includes(work), lines.join('\n'));
});
test('it asks the kernel for more: user namespaces, keyrings and other ways out are closed', async () => {
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
