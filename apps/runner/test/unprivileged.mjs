/** Scripts in sandboxes of a user who is not root; prints the outcome of each as one line of JSON. */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '@platform/kit/node';
import { openSandboxes } from '@platform/sandbox/probe';
import { runSandboxed } from '@platform/sandbox/sandbox';

const clock = systemClock;
const probe = await openSandboxes(process.env.PATH, clock, new AbortController().signal);
if (!probe.ok) throw new Error(probe.because);
const limits = { memoryBytes: 300 * 2 ** 20, processes: 40, cpus: 1, diskBytes: 16 * 2 ** 20 };

const programs = {
  who: 'import os, pwd; print(os.getuid()); print(pwd.getpwuid(os.getuid()).pw_name); print(os.getcwd()); open("runs", "w").write("x"); print(sorted(os.listdir(".")))',
  escapes: `
import ctypes, socket
libc = ctypes.CDLL(None)
def tried(f):
    try: print("open" if f() not in (-1, None) else "closed", flush=True)
    except OSError: print("closed", flush=True)
tried(lambda: libc.unshare(0x10000000))
tried(lambda: open("/usr/evil", "w"))
tried(lambda: open("/evil", "w"))
def connect():
    s = socket.socket(); s.settimeout(2); s.connect(("127.0.0.1", 1)); return s
tried(connect)`,
  memory: 'x = bytearray(400 * 2**20)',
  memoryOfChild: `
import subprocess, sys
subprocess.run([sys.executable, "-c", "x = bytearray(400 * 2**20)"], check=True)`,
  memoryTogether: `
import subprocess, sys, time
code = "import time; x = bytearray(150 * 2**20)\\nfor i in range(0, len(x), 4096): x[i] = 1\\ntime.sleep(20)"
for child in [subprocess.Popen([sys.executable, "-c", code]) for i in range(4)]: child.wait()`,
  disk: `
import time
for i in range(40): open(f"/job/out/{i}", "wb").write(b"x" * 2**20)
time.sleep(20)`,
  forks: `
import os, time
for i in range(100):
    try:
        if os.fork() == 0: time.sleep(20); os._exit(0)
    except OSError: print("held", flush=True); break`,
  stop: `
import os, signal, sys, time
def stop(*_): os.write(1, b"saving\\n"); sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
while True: time.sleep(0.1)`,
};

const results = { kind: { end: { is: probe.sandboxes.limiter.kind }, lines: [] } };
for (const [name, text] of Object.entries(programs)) {
  const out = path.resolve(`out-${name}`);
  const work = path.resolve(`work-${name}`);
  for (const folder of [out, work]) await mkdir(folder);
  const lines = [];
  const stop = new AbortController();
  const task = {
    name,
    folder: path.resolve(`about-${name}`),
    mounts: [
      { from: work, to: '/job', mode: 'rw' },
      { from: out, to: '/job/out', mode: 'rw' },
    ],
    env: { PATH: '/usr/bin:/bin', HOME: '/tmp/home' },
    cwd: '/job',
    command: ['/usr/bin/python3', '-c', text],
    uid: 65_534,
    network: false,
    gpus: [],
    limits,
    watched: [out, work],
    graceMs: 3000,
    clock,
    onLine: (_, line) => {
      lines.push(line);
      if (line === 'ready') stop.abort();
    },
  };
  const { end } = await runSandboxed(probe.sandboxes, task, stop.signal);
  results[name] = { end, lines };
  for (const folder of [out, work]) await rm(folder, { recursive: true });
}
console.log(JSON.stringify(results));
