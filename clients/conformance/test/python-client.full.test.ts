// The Python client: its checks, its package, its tests, and the end-to-end story with the real server and runner.
import assert from 'node:assert/strict';
import { cp, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import {
  checkout,
  clientFolder,
  type Place,
  pytest,
  python,
  Server,
  startPlace,
  storyFolder,
} from '../python/environment.ts';

const settings = path.join(clientFolder, 'pyproject.toml');

/** The programs in the README; the first is the end-to-end story. */
async function readmeExamples(): Promise<string[]> {
  const readme = await readFile(path.join(clientFolder, 'README.md'), 'utf8');
  const examples = [...readme.matchAll(/```python\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  for (const example of examples) assert.match(example, /asyncio\.run\(main\(\)\)/);
  return examples;
}

describe('the Python client', () => {
  test('has generated code that is current', async () => {
    await python(['generate.py', '--check'], {}, clientFolder);
  });

  test('has no type errors, as strict as they come', async () => {
    await using cache = await tempFolder();
    const mypy = ['-m', 'mypy', '--cache-dir', cache.path, '--config-file', settings];
    await python(mypy, {}, clientFolder);
    const files = (await readdir(storyFolder)).filter((name) => name.endsWith('.py'));
    const env = { MYPYPATH: path.join(clientFolder, 'src') };
    await python([...mypy, '--python-version', '3.11', ...files], env, storyFolder);
  });

  test('is formatted and clean', async () => {
    for (const folder of [clientFolder, storyFolder]) {
      await python(['-m', 'ruff', 'check', '--no-cache', '.'], {}, folder);
      await python(['-m', 'ruff', 'format', '--no-cache', '--check', '.'], {}, folder);
    }
  });

  test('passes its own tests', async () => {
    assert.ok((await pytest(['tests'], {}, clientFolder)) >= 40);
  });

  test('installs as a package with its types', async () => {
    await using folder = await tempFolder();
    const at = (name: string): string => path.join(folder.path, name);
    await cp(clientFolder, at('source'), { recursive: true, filter: (name) => !name.includes('__pycache__') });
    const pip = ['-m', 'pip', '--disable-pip-version-check', '--quiet'];
    const plain = { PYTHONPATH: '' };
    await python(
      [...pip, 'wheel', '--no-deps', '--no-build-isolation', '-w', at('wheel'), at('source')],
      plain,
      folder.path,
    );
    const [wheel = ''] = await readdir(at('wheel'));
    assert.match(wheel, /^platform_client-\d+\.\d+\.\d+-py3-none-any\.whl$/);
    await python(
      [...pip, 'install', '--no-deps', '--target', at('site'), path.join(at('wheel'), wheel)],
      plain,
      folder.path,
    );
    // The client must not hide Python's own module `platform`.
    const program = 'import platform, platform_client; print(platform.system(), platform_client.__file__)';
    const output = await python(['-c', program], { PYTHONPATH: at('site') }, folder.path);
    assert.match(output, /^Linux .*\/site\/platform_client\/__init__\.py/);
    // Type-checks user programs. Ignores errors inside packages, but uses the packages' types.
    const programs = await readmeExamples();
    const names = programs.map((_, n) => `program_${n}.py`);
    for (const [n, name] of names.entries()) await writeFile(at(name), programs[n] ?? '');
    const mypy = ['-m', 'mypy', '--strict', '--follow-imports', 'silent', '--ignore-missing-imports', '--cache-dir'];
    const env = { PYTHONPATH: '', MYPYPATH: at('site') };
    for (const name of names) await python([...mypy, at('cache'), name], env, folder.path);
  });
});

describe('the Python client against a real server and runner', () => {
  let place: Place;
  before(async () => {
    place = await startPlace();
  });
  after(async () => {
    await place[Symbol.asyncDispose]();
  });

  test('lives through the whole story', async () => {
    assert.ok((await pytest(['test_own_client.py'], place.env, storyFolder)) >= 10);
  });

  test('its README works as written', async () => {
    await using folder = await tempFolder();
    const draw = [
      'import sys; from pathlib import Path; from images import image',
      'for n in range(24):',
      '    folder = Path(sys.argv[1]) / ("dark" if n % 2 else "light"); folder.mkdir(parents=True, exist_ok=True)',
      '    (folder / f"{n}.png").write_bytes(image(n, is_dark=n % 2 == 1))',
    ];
    const things = path.join(folder.path, 'things');
    await mkdir(things);
    await python(['-c', draw.join('\n'), things], {}, storyFolder);
    const [whole = '', ...others] = await readmeExamples();
    await writeFile(path.join(folder.path, 'program.py'), whole);
    const { PLATFORM_URL = '', PLATFORM_API_KEY_ID = '', PLATFORM_API_KEY = '' } = place.env;
    const output = await python(['program.py'], { PLATFORM_URL, PLATFORM_API_KEY_ID, PLATFORM_API_KEY }, folder.path);
    assert.match(output, /24 of 24 images/);
    assert.match(output, /COMPLETED .*100%/);
    assert.match(output, /JobScore\(name='accuracy', value=/);
    assert.match(output, /'labels\.txt'/);
    assert.ok((await readdir(folder.path)).includes('things.tar.gz'));
    const rest: string[] = [];
    for (const other of others) {
      await writeFile(path.join(folder.path, 'other.py'), other);
      rest.push(await python(['other.py'], { PLATFORM_URL, PLATFORM_API_KEY_ID, PLATFORM_API_KEY }, folder.path));
    }
    assert.match(rest.join(''), /^TRAINING_JOB_NOT_FOUND /m);
  });

  test('speaks to a server with a certificate', async () => {
    const tls = path.join(checkout, 'apps', 'cloud', 'test', 'tls');
    const certificate = path.join(tls, 'cert.pem');
    await using server = await Server.open('--tls-cert', certificate, '--tls-key', path.join(tls, 'key.pem'));
    const { port } = new URL(server.ready.url);
    const env = { ...server.env, PLATFORM_URL: `https://localhost:${port}`, CA_FILE: certificate };
    assert.match(await python(['encrypted.py'], env, storyFolder), /^all of it arrived$/m);
  });

  test('goes on when the server is killed and comes back: waiting, following, uploading', async () => {
    const { server, env } = place;
    let outage: Promise<void> | undefined;
    const output = await python(['outage.py'], env, storyFolder, (line) => {
      if (line === 'kill now') outage = server.kill().then(() => server.start());
    });
    assert.ok(outage, 'the server was killed');
    await outage;
    const report: unknown = JSON.parse(output.trim().split('\n').at(-1) ?? '');
    assert.deepEqual(report, { status: 'COMPLETED', was_away: true, log_is_whole: true, uploaded: 150, stored: 150 });
  });
});
