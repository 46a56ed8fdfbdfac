import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostOomKillsIn, memoryFailure, type MemoryEvidence } from './memory-failure.ts';

const failed: MemoryEvidence = { exitCode: 1, lastLines: [], oomKills: undefined, hostOomKills: 0 };
const traceback = ['Traceback (most recent call last):', '  File "training.py", line 3, in <module>'];
const pool = 'concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly';
const loader = 'RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.';
const subprocess = "subprocess.CalledProcessError: Command '['a']' returned non-zero exit status 1.";

const rows: [name: string, evidence: Partial<MemoryEvidence>, expected: RegExp | undefined][] = [
  ['ended well, though a child was killed', { exitCode: 0, oomKills: 1 }, undefined],
  ['a child was killed by the group', { oomKills: 1, lastLines: ['ValueError: worker gone'] }, /killed one of its/],
  ['several were', { exitCode: 137, oomKills: 3 }, /killed 3 of its processes/],
  ['failed, nothing was killed', { oomKills: 0, lastLines: ['ValueError: x'] }, undefined],
  ['killed, and not for memory', { exitCode: 137, oomKills: 0, hostOomKills: 4 }, undefined],
  ['killed by the host, no group', { exitCode: 137, hostOomKills: 1 }, /killed one of its processes/],
  ['killed by another process, no group', { exitCode: 137 }, undefined],
  ['a data loader was killed by the host', { hostOomKills: 1, lastLines: [loader] }, /killed one/],
  ['a process pool was killed by the host', { hostOomKills: 1, lastLines: [...traceback, pool] }, /killed one/],
  ['another program was killed by the host', { hostOomKills: 1, lastLines: ['ValueError: x'] }, undefined],
  ['a child was killed, and not for memory', { oomKills: 0, lastLines: [loader] }, undefined],
  ['MemoryError', { lastLines: [...traceback, 'MemoryError'] }, /refused \(MemoryError\)/],
  ['MemoryError in a group', { oomKills: 0, lastLines: ['MemoryError: out of memory'] }, /refused/],
  [
    'numpy',
    { lastLines: ['numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.28 TiB for an array'] },
    /7\.28 TiB/,
  ],
  [
    'PyTorch',
    {
      lastLines: [
        "RuntimeError: [enforce fail at alloc_cpu.cpp:83] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes",
      ],
    },
    /DefaultCPUAllocator/,
  ],
  [
    'C++',
    {
      exitCode: 134,
      lastLines: ["terminate called after throwing an instance of 'std::bad_alloc'", '  what():  std::bad_alloc'],
    },
    /bad_alloc/,
  ],
  ['fork', { lastLines: ['OSError: [Errno 12] Cannot allocate memory'] }, /Errno 12/],
  ['a child was refused memory', { lastLines: ['MemoryError', ...traceback, subprocess] }, /refused \(MemoryError\)/],
  [
    'refused before, failed for another reason',
    { lastLines: ['MemoryError', 'smaller batches', ...traceback, 'ValueError: no image'] },
    undefined,
  ],
  ['memory of a GPU', { lastLines: ['torch.cuda.OutOfMemoryError: CUDA out of memory.'] }, undefined],
  ['a word in a sentence', { lastLines: ['I wonder about MemoryError', 'KeyError: 1'] }, undefined],
];
for (const [name, evidence, expected] of rows) {
  test(name, () => {
    const outcome = memoryFailure({ ...failed, ...evidence });
    if (expected) assert.match(outcome ?? 'undefined', expected);
    else assert.equal(outcome, undefined);
  });
}

test('what the kernel counts on this host', () => {
  assert.equal(hostOomKillsIn('nr_free_pages 1\noom_kill 12\nnuma_hit 3\n'), 12);
  assert.equal(hostOomKillsIn(''), 0);
});
