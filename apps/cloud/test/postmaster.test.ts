import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { plainEnvironment } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { processState } from '../src/postgres/postmaster.ts';

// Under an emulator, /proc names the emulator as the program. Here Node is the emulator.
for (const [what, file, isIn, expected] of [
  ['PostgreSQL under an emulator', 'postgres', true, 'postgres'],
  ['PostgreSQL under an emulator, of another folder', 'postgres', false, 'gone'],
  ['another program in the folder, which has the PID now', 'postgres.log', true, 'gone'],
] as const)
  test(`the process of a postmaster: ${what}`, async () => {
    await using folder = await tempFolder();
    await mkdir(folder.file('data'));
    const program = folder.file(file);
    await writeFile(program, "process.stdout.write('started'); setInterval(() => {}, 1000);");
    const cwd = isIn ? folder.file('data') : folder.path;
    const child = spawn(process.execPath, [program, '-D', path.join(folder.path, 'data')], {
      env: plainEnvironment(),
      cwd,
    });
    try {
      await once(child.stdout, 'data');
      assert.equal(await processState(child.pid!, folder.file('data')), expected);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    assert.equal(await processState(child.pid!, folder.file('data')), 'gone');
  });
