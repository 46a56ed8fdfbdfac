/** The program itself, killed and started again. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { plainEnvironment, isAlive, processStartTime } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { QueueServer } from './queue-server.ts';

const program = fileURLToPath(new URL('runner-with-fake-trainer.ts', import.meta.url));

test('kill −9: the next start ends the orphan, clears up and runs the job again to its end', async () => {
  await using folder = await tempFolder();
  await using server = new QueueServer();
  const url = await server.start();
  const start = () =>
    spawn(process.execPath, [program], {
      stdio: 'inherit',
      env: plainEnvironment({ TEST_URL: url, TEST_FOLDER: folder.path }),
    });
  const job = server.submit({ arguments: { act: 'hang' } });
  const first = start();
  await server.until('begun', () => job.logs.some(({ message }) => message.startsWith('pid ')));
  const pid = Number(job.logs.find(({ message }) => message.startsWith('pid '))?.message.slice(4));
  const trainer = { pid, startTime: processStartTime(pid) ?? '' };
  first.kill('SIGKILL');
  await new Promise((resolve) => first.once('exit', resolve));
  assert.equal(isAlive(trainer), true);

  job.spec.arguments = { act: 'succeed' };
  const second = start();
  await server.until('completed', () => job.state === 'completed');
  assert.equal(isAlive(trainer), false);
  assert.equal(job.attempt, 2);
  second.kill('SIGTERM');
  await new Promise((resolve) => second.once('exit', resolve));
  assert.deepEqual(await readdir(folder.file('jobs')), []);
});
