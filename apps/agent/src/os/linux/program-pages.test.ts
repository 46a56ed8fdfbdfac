import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programText } from './program-pages.ts';

const program = '/opt/platform/versions/1-ab/platform-agent';
const table: readonly [string, string, number][] = [
  ['its instructions', `02000000-05a00000 r-xp 01e00000 fe:00 1234                       ${program}`, 1],
  ['… of a file that was replaced', `02000000-05a00000 r-xp 01e00000 fe:00 1234            ${program} (deleted)`, 1],
  ['its constants: they may have been written when it was loaded', `02000000-05a00000 r--p 0 fe:00 1234 ${program}`, 0],
  ['its variables', `02000000-05a00000 rw-p 01e00000 fe:00 1234                          ${program}`, 0],
  ['instructions that may be written', `02000000-05a00000 rwxp 01e00000 fe:00 1234        ${program}`, 0],
  ['a library', '7f0000000000-7f0000001000 r-xp 00000000 fe:00 99                      /usr/lib/libc.so.6', 0],
  ['a file with its name before', `02000000-05a00000 r-xp 0 fe:00 1234 ${program}.back`, 0],
  ['no file', '7f0000000000-7f0000001000 r-xp 00000000 00:00 0 ', 0],
  ['of the kernel', '7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                          [vdso]', 0],
];
for (const [name, line, count] of table)
  test(`what of a program's memory may be let go of: ${name}`, () =>
    assert.equal(programText(`${line}\n`, program).length, count));

test('a range is as long as the kernel says', () => {
  const [range] = programText(`02000000-05a00000 r-xp 01e00000 fe:00 1234   ${program}\n`, program);
  assert.deepEqual(range, { start: 0x2000000n, bytes: 0x3a00000n });
});
