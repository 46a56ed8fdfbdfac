/** Training scripts that take too much, in real sandboxes: processes, disk, memory, output and time have limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneStage } from './one-stage.ts';
import { save } from './script-stage.ts';

const { at, assertHealthy, failed } = oneStage();

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
