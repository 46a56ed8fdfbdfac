/** Packages of training scripts: what pip and setup.py may do, and how they fail. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { oneStage } from './one-stage.ts';
import { save, setup, stage } from './script-stage.ts';

const { at, assertHealthy, failed } = oneStage();

test('a container that this runner lacks is named with those it has', async () => {
  const job = await at().submit(save, { container_version: 'tf:2.16' });
  await failed(job, 'CONTAINER_NOT_FOUND', /"tf:2\.16"; available: py:3\.11/, 'infrastructure');
});
test('a package that is not there: pip’s words in the log, and the remedy', async () => {
  await using wheels = await tempFolder();
  await chmod(wheels.path, 0o755);
  await using s = await stage(['--wheelhouse', wheels.path]);
  const files = { 'setup.py': setup.replace('[]', '["no-such-package-anywhere==1.0"]') };
  const job = await s.ended(await s.submit(save, {}, files));
  assert.equal(job.failure?.code, 'SCRIPT_BUILD_FAILED');
  assert.match(
    job.failure?.message ?? '',
    /pip could not install no-such-package-anywhere==1\.0 \(not installed\).*No matching distribution found for no-such-package-anywhere==1\.0.*--wheelhouse/,
  );
  assert.ok(
    s.lines(job).some((line) => line.startsWith('error ERROR: Could not find a version')),
    s.lines(job).join('\n'),
  );
});

const naming = (text: string): RegExp => new RegExp(text.replaceAll(/[[\]().+*?]/g, String.raw`\$&`));
test('requirements.txt is read when setup.py names nothing: what is missing is named before the training', async () => {
  const s = at();
  const files = { 'requirements.txt': 'no-such-package-anywhere>=1.0  # for the tables\n' };
  const job = await s.submit('say("training")', {}, files);
  const wanted =
    "The container py:3.11 (Python 3.11.2) lacks packages that the training script requires: no-such-package-anywhere>=1.0 (not installed). Choose a container that has them, or ask the operator of the runner to install them: /usr/bin/python3 -m pip install 'no-such-package-anywhere>=1.0'. With --wheelhouse";
  await failed(job, 'SCRIPT_PACKAGES_MISSING', naming(wanted));
  assert.ok(!s.lines(job).includes('info training'));
});
test('requirements.txt beside dependencies in setup.py: not read, and a line says so', async () => {
  const s = at();
  const files = { 'setup.py': setup.replace('[]', '["pip>=1"]'), 'requirements.txt': 'no-such-package-anywhere\n' };
  const job = await s.ended(await s.submit(save, {}, files));
  assert.equal(job.state, 'completed', job.failure?.message);
  const line = 'warn requirements.txt is not read, because setup.py names dependencies.';
  assert.ok(s.lines(job).includes(line), s.lines(job).join('\n'));
});

/** What pip accepts in such files; the container has base 1.4 and its extra part-a. */
const rich: Record<string, string | Buffer> = {
  'requirements.txt': String.raw`# a comment
--extra-index-url https://mirror.example/simple
-r more/nested.txt
-c limits.txt
-e .
base[Part_A, part-b] >= 1.0 ; python_version >= "3.8"
base == 1.* --hash=sha256:0000
only-elsewhere ; sys_platform == "win32"
split-over   >=2,   <3   # two lines
limited
`,
  'limits.txt': 'limited<5\nunused==1\n',
  'more/nested.txt': Buffer.from('\ufeffnested~=1.2\r\n-r ../requirements.txt\r\nbase>=1.5\r\n', 'utf16le'),
};
test('markers, extras, constraints, nested files, encodings and comments of requirements.txt', async () => {
  await using folder = await tempFolder();
  execFileSync('/usr/bin/python3', ['-m', 'venv', '--without-pip', folder.path]);
  const installed = {
    base: 'Version: 1.4\nProvides-Extra: part-a\nProvides-Extra: part-b\nRequires-Dist: here>=1; extra == "part-a"\nRequires-Dist: absent>=3; extra == "part-b"\nRequires-Dist: other; extra == "part-c"\n',
    here: 'Version: 1.0\n',
  };
  for (const [name, rest] of Object.entries(installed)) {
    const about = folder.file('lib/python3.11/site-packages', `${name}.dist-info`);
    await mkdir(about);
    await writeFile(path.join(about, 'METADATA'), `Metadata-Version: 2.1\nName: ${name}\n${rest}`);
  }
  await using s = await stage(['--script-python', `own:1=${folder.file('bin/python')}`]);
  const job = await s.ended(await s.submit(save, {}, rich));
  assert.equal(job.failure?.code, 'SCRIPT_PACKAGES_MISSING', job.failure?.message);
  const wanted =
    'requires: nested~=1.2 (not installed), base>=1.5 (1.4 is installed), absent>=3 for base[part-b] (not installed), split-over<3,>=2 (not installed), limited<5 (not installed). Choose';
  assert.match(job.failure?.message ?? '', naming(wanted));
  const line =
    'warn requirements.txt line 2: --extra-index-url is not followed. Packages come from the sources that the operator of the runner allows.';
  assert.ok(s.lines(job).includes(line), s.lines(job).join('\n'));

  // The operator installs what is missing: the same script, and so the same archive, runs.
  const fits = { nested: '1.3', base: '1.6', absent: '3.1', split_over: '2.5', limited: '4.9' };
  for (const [name, version] of Object.entries(fits)) {
    const about = folder.file('lib/python3.11/site-packages', `${name}.dist-info`);
    await mkdir(about, { recursive: true });
    await writeFile(path.join(about, 'METADATA'), `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`);
  }
  const later = await s.ended(await s.submit(save, {}, rich));
  assert.equal(later.state, 'completed', later.failure?.message);
});
test('dependencies in pyproject.toml, in files that it names, and in setup.cfg', async () => {
  const rows: Record<string, string>[] = [
    { 'pyproject.toml': '[project]\nname = "x"\ndependencies = ["no-such-a>=1"]\n' },
    {
      'pyproject.toml':
        '[project]\nname = "x"\ndynamic = ["dependencies"]\n[tool.setuptools.dynamic]\ndependencies = {file = ["needs.txt"]}\n',
      'needs.txt': 'no-such-a>=1\n',
    },
    { 'setup.cfg': '[options]\ninstall_requires =\n  no-such-a>=1\n  pip\n' },
  ];
  for (const files of rows) {
    await failed(
      await at().submit(save, {}, files),
      'SCRIPT_PACKAGES_MISSING',
      naming('requires: no-such-a>=1 (not installed).'),
    );
  }
});
test('lines of requirements.txt without a package name, and files outside: refused with their place', async () => {
  const rows: [string, string][] = [
    ['pip\ngit+https://example.org/x.git', '"git+https://example.org/x.git" in requirements.txt line 2 is not'],
    ['evil @ file:///job/src', '"evil @ file:///job/src" in requirements.txt line 1 is not'],
    ['-r /etc/passwd', '"passwd" in a file outside of the project is not'],
    ['-r ../../etc/shadow', '"shadow" in a file outside of the project is not'],
    ['-r missing.txt', 'missing.txt\'" in missing.txt is not'],
    ['x\u001b[31m\u202e==', '"x?[31m?==" in requirements.txt line 1 is not'],
  ];
  for (const [text, wanted] of rows) {
    const job = await at().submit(save, {}, { 'requirements.txt': text });
    await failed(job, 'SCRIPT_BUILD_FAILED', naming(wanted));
  }
});
test('a module that the container lacks, imported all the same: named with its package', async () => {
  const wanted =
    /imports cv2 \(package opencv-python-headless\), which the container py:3\.11 \(Python 3\.11\.\d+\) does not have\. Name the package in requirements\.txt[^]*ModuleNotFoundError/;
  await failed(await at().submit('def load():\n    import cv2\nload()'), 'SCRIPT_MODULE_MISSING', wanted);
});
test('a module of the script itself that is not there, and one that only a caught error names: the script failed', async () => {
  await failed(await at().submit('import model.helper'), 'SCRIPT_FAILED', /No module named 'model\.helper'$/);
  const caught = 'try: import no_such\nexcept ImportError as error: print(error, file=sys.stderr)\nsys.exit(2)';
  await failed(await at().submit(caught), 'SCRIPT_FAILED', /exit code 2/);
});
test('setup.py puts a link or a pipe where its requirements are expected: refused, and nothing hangs', async () => {
  for (const act of ['os.symlink("/etc/passwd", file)', 'os.mkfifo(file)']) {
    const files = { 'setup.py': `import os\nfile = "/job/build/requirements.json"\n${act}\nos._exit(0)` };
    await failed(await at().submit(save, {}, files), 'SCRIPT_BUILD_FAILED', /left no list of requirements/);
  }
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
