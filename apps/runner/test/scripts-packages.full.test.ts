/** Packages of training scripts: what pip and setup.py may do, and how they fail. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneStage } from './one-stage.ts';
import { save, setup } from './script-stage.ts';

const { at, assertHealthy, failed } = oneStage();

test('a container that this runner lacks is named with those it has', async () => {
  const job = await at().submit(save, { container_version: 'tf:2.16' });
  await failed(job, 'CONTAINER_NOT_FOUND', /"tf:2\.16"; available: py:3\.11/, 'infrastructure');
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
