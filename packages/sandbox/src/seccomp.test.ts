import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seccompFilter } from './seccomp.ts';

/** Interprets the program like the kernel, with the data of one call. */
function outcome(program: Buffer, call: { arch: number; nr: number; flags?: number }): string {
  const memory = new Map([
    [0, call.nr],
    [4, call.arch],
    [16, call.flags ?? 0],
  ]);
  let value = 0;
  for (let at = 0; at < program.length / 8; at++) {
    const code = program.readUInt16LE(at * 8);
    const [then, otherwise] = [program.readUInt8(at * 8 + 2), program.readUInt8(at * 8 + 3)];
    const k = program.readUInt32LE(at * 8 + 4);
    const jump = (isTrue: boolean): void => void (at += isTrue ? then : otherwise);
    if (code === 0x20) value = memory.get(k) ?? NaN;
    else if (code === 0x15) jump(value === k);
    else if (code === 0x35) jump(value >= k);
    else if (code === 0x45) jump((value & k) !== 0);
    else if (code === 0x06)
      return k === 0x7fff0000
        ? 'allow'
        : k === 0x50001
          ? 'EPERM'
          : k === 0x50026
            ? 'ENOSYS'
            : k === 0x50061
              ? 'EAFNOSUPPORT'
              : `${k}`;
    else return `unknown instruction ${code}`;
  }
  return 'fell off the end';
}
const x64 = 0xc000003e;
const arm64 = 0xc00000b7;
const table: [string, string, { arch: number; nr: number; flags?: number }, string][] = [
  ['read', 'x64', { arch: x64, nr: 0 }, 'allow'],
  ['fork by clone', 'x64', { arch: x64, nr: 56, flags: 0x1200011 }, 'allow'],
  ['clone into a user namespace', 'x64', { arch: x64, nr: 56, flags: 0x10000011 }, 'EPERM'],
  ['unshare of a user namespace', 'x64', { arch: x64, nr: 272, flags: 0x10020000 }, 'EPERM'],
  ['unshare of files', 'x64', { arch: x64, nr: 272, flags: 0x400 }, 'allow'],
  ['clone3', 'x64', { arch: x64, nr: 435 }, 'ENOSYS'],
  ['keyctl', 'x64', { arch: x64, nr: 250 }, 'EPERM'],
  ['bpf', 'x64', { arch: x64, nr: 321 }, 'EPERM'],
  ['io_uring_setup', 'x64', { arch: x64, nr: 425 }, 'EPERM'],
  ['a call of the x32 convention', 'x64', { arch: x64, nr: 0x40000000 + 56, flags: 0x10000000 }, 'ENOSYS'],
  ['a 32-bit call', 'x64', { arch: 0x40000003, nr: 310 }, 'ENOSYS'],
  ['unshare of a user namespace', 'arm64', { arch: arm64, nr: 97, flags: 0x10000000 }, 'EPERM'],
  ['keyctl', 'arm64', { arch: arm64, nr: 219 }, 'EPERM'],
  ['openat', 'arm64', { arch: arm64, nr: 56, flags: 0x10000000 }, 'allow'],
  ['a foreign call', 'arm64', { arch: x64, nr: 0 }, 'ENOSYS'],
];
/** AF_UNSPEC … AF_MCTP, and invalid numbers. */
const families = [...Array.from({ length: 47 }, (_, family) => family), 0xffff, 0xffffffff];
const socketCalls = [
  ['socket', 'x64', x64, 41],
  ['socketpair', 'x64', x64, 53],
  ['socket', 'arm64', arm64, 198],
  ['socketpair', 'arm64', arm64, 199],
] as const;
for (const [name, machine, arch, nr] of socketCalls) {
  test(`${machine}, ${name}: AF_UNIX, AF_INET and AF_INET6 alone`, () => {
    const program = seccompFilter(machine);
    assert.ok(program);
    const open = families.filter((family) => outcome(program, { arch, nr, flags: family }) === 'allow');
    assert.deepEqual(open, [1, 2, 10]);
    for (const family of families.filter((one) => !open.includes(one))) {
      assert.equal(outcome(program, { arch, nr, flags: family }), 'EAFNOSUPPORT');
    }
  });
}
for (const [machine, arch] of [
  ['x64', x64],
  ['arm64', arm64],
] as const) {
  test(`${machine}: nothing of io_uring`, () => {
    const program = seccompFilter(machine);
    assert.ok(program);
    for (const nr of [425, 426, 427]) assert.equal(outcome(program, { arch, nr }), 'EPERM');
  });
}
for (const [name, machine, call, wanted] of table) {
  test(`${machine}, ${name}: ${wanted}`, () => {
    const program = seccompFilter(machine);
    assert.ok(program);
    assert.equal(outcome(program, call), wanted);
  });
}
test('a machine without a table has no filter', () => assert.equal(seccompFilter('mips'), undefined));
