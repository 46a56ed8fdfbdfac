/** What a script asks for beyond its Python: packages out of a folder or an index, and the network where it is allowed. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder, type TempFolder } from '@platform/kit/testing';
import { leftovers, save, setup, stage } from './script-stage.ts';

/** A package of one module, as a wheel. */
async function wheel(folder: string, name: string, version: string, content: string): Promise<string> {
  const parts = path.join(folder, `${name}-${version}`);
  const about = path.join(parts, `${name}-${version}.dist-info`);
  await mkdir(about, { recursive: true });
  await writeFile(path.join(parts, `${name}.py`), content);
  await writeFile(path.join(about, 'METADATA'), `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`);
  await writeFile(
    path.join(about, 'WHEEL'),
    'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  );
  await writeFile(path.join(about, 'RECORD'), '');
  const file = `${name}-${version}-py3-none-any.whl`;
  const program = 'import shutil, sys; shutil.make_archive(sys.argv[1], "zip", sys.argv[2])';
  execFileSync('/usr/bin/python3', ['-c', program, path.join(folder, file), parts]);
  execFileSync('mv', [path.join(folder, `${file}.zip`), path.join(folder, file)]);
  execFileSync('rm', ['-r', parts]);
  return file;
}
/** A folder that everybody may read: where root makes the sandboxes, scripts are another user. */
async function wheelhouse(): Promise<TempFolder> {
  const folder = await tempFolder();
  await chmod(folder.path, 0o755);
  return folder;
}
const asking = (requirement: string): Record<string, string> => ({
  'setup.py': setup.replace('[]', JSON.stringify([requirement])),
});

test('a package out of the wheelhouse is installed once; the second job finds it, another version is another environment', async () => {
  await using wheels = await wheelhouse();
  await wheel(wheels.path, 'tinypack', '1.0', 'word = "one"');
  await wheel(wheels.path, 'tinypack', '2.0', 'word = "two"');
  await using s = await stage(['--wheelhouse', wheels.path]);
  const training = `import tinypack\nopen(out + "/word", "w").write(tinypack.word + sys.executable)`;
  const first = await s.ended(await s.submit(training, {}, asking('tinypack<2')));
  assert.equal(first.state, 'completed', first.failure?.message);
  assert.equal(s.file(first, 'word'), 'one/job/env/bin/python');
  assert.ok(s.lines(first).includes('warn Installing tinypack<2 …'));
  const again = await s.ended(await s.submit(training, {}, asking('tinypack<2')));
  assert.equal(s.file(again, 'word'), 'one/job/env/bin/python');
  assert.ok(s.lines(again).includes('warn Packages from before: tinypack<2.'), s.lines(again).join('\n'));
  const other = await s.ended(await s.submit(training, {}, asking('tinypack>=2')));
  assert.equal(s.file(other, 'word'), 'two/job/env/bin/python');
  const kept = (await readdir(s.scripts.cache)).filter((name) => /^[0-9a-f]{32}$/.test(name));
  assert.equal(kept.length, 2);
  assert.deepEqual(await leftovers(s), []);
});

test('a script cannot change the packages that the next one gets', async () => {
  await using wheels = await wheelhouse();
  await wheel(wheels.path, 'tinypack', '1.0', 'word = "one"');
  await using s = await stage(['--wheelhouse', wheels.path]);
  const training = `${save}
import tinypack
try: open(tinypack.__file__, "w").write("evil"); say("changed")
except OSError as error: say("kept", error.errno)`;
  const job = await s.ended(await s.submit(training, {}, asking('tinypack')));
  assert.ok(s.lines(job).includes('info kept 30'), s.lines(job).join('\n'));
});

test('packages that the Python has already need no installation', async () => {
  await using s = await stage();
  const job = await s.ended(await s.submit(save, {}, asking('pip>=1')));
  assert.equal(job.state, 'completed', job.failure?.message);
  assert.ok(!s.lines(job).some((line) => /Installing|from before/.test(line)));
  assert.deepEqual(await readdir(s.scripts.cache), ['requirements']);
});

test('a package out of an index: the installation has the network, the script has not', async () => {
  await using folder = await tempFolder();
  const file = await wheel(folder.path, 'tinypack', '1.0', 'word = "from the index"');
  const asked: string[] = [];
  const index = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url === '/simple/tinypack/')
      response.setHeader('content-type', 'text/html').end(`<a href="/${file}">${file}</a>`);
    else if (request.url === `/${file}`) void readFile(folder.file(file)).then((bytes) => response.end(bytes));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => index.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(index.address() as AddressInfo).port}`;
  try {
    await using s = await stage(['--pip-index-url', `${url}/simple`]);
    const training = `
import tinypack, urllib.request
try: urllib.request.urlopen("${url}/stolen", timeout=3)
except OSError as error: say("no network")
open(out + "/word", "w").write(tinypack.word)`;
    const job = await s.ended(await s.submit(training, {}, asking('tinypack')));
    assert.equal(job.state, 'completed', job.failure?.message);
    assert.equal(s.file(job, 'word'), 'from the index');
    assert.ok(s.lines(job).includes('info no network'));
    assert.deepEqual(asked, ['/simple/tinypack/', `/${file}`]);
  } finally {
    index.close();
  }
});

test('where the operator allows the network a script reaches the server with its key', async () => {
  await using s = await stage(['--allow-script-network']);
  const training = `
import urllib.request
try: urllib.request.urlopen(os.environ["PLATFORM_BASE_URL"] + "/blobs/" + "0" * 64)
except urllib.error.HTTPError as error: open(out + "/code", "w").write(str(error.code))`;
  const job = await s.ended(await s.submit(training));
  assert.equal(s.file(job, 'code'), '401', job.failure?.message);
  assert.ok(s.lines(job).some((line) => line.includes('network of this computer')));
});

test('a Python of a virtual environment brings its packages, also below installed ones', async () => {
  await using wheels = await wheelhouse();
  await wheel(wheels.path, 'tinypack', '1.0', 'word = "one"');
  const python = process.env['PLATFORM_TEST_PYTHON'];
  assert.ok(python, 'PLATFORM_TEST_PYTHON names a Python with numpy');
  await using s = await stage([
    '--script-python',
    `py:3.11=/usr/bin/python3,np:2=${python}`,
    '--wheelhouse',
    wheels.path,
  ]);
  assert.deepEqual(
    s.scripts.environments.map(({ key }) => key),
    ['py:3.11', 'np:2'],
  );
  assert.match(s.scripts.environments[1]?.description ?? '', /^Python 3\.\d+\.\d+ with numpy 2/);
  const training = `import numpy, tinypack\nopen(out + "/sum", "w").write(str(numpy.arange(4).sum()) + tinypack.word)`;
  const job = await s.ended(await s.submit(training, { container_version: 'np:2' }, asking('tinypack')));
  assert.equal(s.file(job, 'sum'), '6one', job.failure?.message);
});

test('a share of the processors is all that a script gets, however many processes it starts', async () => {
  await using s = await stage(['--script-cpus', '0.4']);
  const training = `
children = []
begun = time.monotonic()
for i in range(3):
    pid = os.fork()
    if pid == 0:
        while time.monotonic() - begun < 2: pass
        os._exit(0)
    children.append(pid)
for pid in children: os.waitpid(pid, 0)
used = os.times()
say("share", (used.children_user + used.children_system) / (time.monotonic() - begun))${save}`;
  const job = await s.ended(await s.submit(training));
  assert.equal(job.state, 'completed', job.failure?.message);
  const share = Number(
    s
      .lines(job)
      .find((line) => line.startsWith('info share '))
      ?.slice(11),
  );
  assert.ok(share > 0 && share < 0.6, `${share} of a processor`);
});

test('two jobs at a time that need the same packages: both get them', async () => {
  await using wheels = await wheelhouse();
  await wheel(wheels.path, 'tinypack', '1.0', 'word = "one"');
  await using s = await stage(['--wheelhouse', wheels.path, '--jobs', '2']);
  const training = `import tinypack\nopen(out + "/word", "w").write(tinypack.word)`;
  const jobs = [await s.submit(training, {}, asking('tinypack')), await s.submit(training, {}, asking('tinypack'))];
  for (const job of jobs) assert.equal(s.file(await s.ended(job), 'word'), 'one', job.failure?.message);
  assert.deepEqual(
    (await readdir(s.scripts.cache)).filter((name) => name.endsWith('.part')),
    [],
  );
  assert.deepEqual(await leftovers(s), []);
});
