import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programPages } from './program-pages.ts';

const program = '/opt/platform/versions/1-ab/platform-agent';
/** One mapping in the kernel's format. */
const mapping = (line: string, changedKib = 0, swappedKib = 0): string =>
  `${line}
Size:              80000 kB
Rss:               31000 kB
Anonymous:         ${String(changedKib).padStart(6)} kB
Swap:              ${String(swappedKib).padStart(6)} kB
SwapPss:                0 kB
VmFlags: rd ex mr mw me sd
`;
const instructions = mapping(`02000000-05a00000 r-xp 01e00000 fe:00 1234       ${program}`);
const constants = mapping(`00200000-01a39000 r--p 00000000 fe:00 1234          ${program}`);

const table: readonly [string, string, unchanged: number, writable?: number][] = [
  ['its instructions', instructions, 1],
  ['its constants', constants, 1],
  ['both', constants + instructions, 2],
  ['… of a file that was replaced', mapping(`02000000-05a00000 r-xp 0 fe:00 12 ${program} (deleted)`), 1],
  ['constants that the loader wrote', mapping(`0685f000-06867000 r--p 06656000 fe:00 1234 ${program}`, 12), 0],
  ['… and that were swapped out', mapping(`0685f000-06867000 r--p 06656000 fe:00 1234 ${program}`, 0, 12), 0],
  ['instructions that were written', mapping(`02000000-05a00000 r-xp 01e00000 fe:00 1234 ${program}`, 4), 0],
  ['a kernel that does not say', `02000000-05a00000 r-xp 0 fe:00 1234 ${program}\nSize: 80000 kB\n`, 0],
  ['its variables', mapping(`02000000-05a00000 rw-p 01e00000 fe:00 1234 ${program}`, 52), 0, 1],
  ['instructions that may be written', mapping(`02000000-05a00000 rwxp 01e00000 fe:00 1234 ${program}`), 0],
  ['what is shared', mapping(`02000000-05a00000 r--s 01e00000 fe:00 1234 ${program}`), 0],
  ['memory of no file', mapping('7f0000000000-7f0000001000 rw-p 00000000 00:00 0 '), 0],
  ['a library', mapping('7f0000000000-7f0000001000 r-xp 00000000 fe:00 99 /usr/lib/libc.so.6'), 0],
  ['a file with its name before', mapping(`02000000-05a00000 r-xp 0 fe:00 1234 ${program}.back`), 0],
  ['no file', mapping('7f0000000000-7f0000001000 r-xp 00000000 00:00 0 '), 0],
  ['of the kernel', mapping('7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                          [vdso]'), 0],
];
for (const [name, smaps, unchanged, writable = 0] of table)
  test(`what of a program's memory may be let go of: ${name}`, () => {
    const pages = programPages(smaps, program);
    assert.deepEqual([pages.unchanged.length, pages.writable.length], [unchanged, writable]);
  });

test('a range is as long as the kernel says', () => {
  assert.deepEqual(programPages(instructions, program).unchanged, [{ start: 0x2000000n, bytes: 0x3a00000n }]);
});
