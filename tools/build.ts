// Builds everything that the platform needs to start from a checkout: the web app, the release files of machine server
// and agent, and the agent for Node. Skips each build whose sources are unchanged.
// Prints one JSON line on stdout: {"web": folder, "releases": [{name, version, platform, file, sha256, size}], "agent": file}.
// With --platform P --out FOLDER: only the release files of that platform, in that folder. With --web: only the web app.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const root = path.resolve(import.meta.dirname, '..');
const dist = path.join(root, 'dist');
const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** sha256 over names and contents of all matching files. */
function fingerprint(patterns: readonly string[]): string {
  const hash = createHash('sha256').update(process.version);
  const files = globSync(patterns, {
    cwd: root,
    exclude: (name) => name.includes('node_modules') || name.endsWith('.test.ts'),
  });
  for (const file of files.toSorted()) {
    const full = path.join(root, file);
    if (!statSync(full).isFile()) continue;
    hash.update(file).update('\0').update(readFileSync(full)).update('\0');
  }
  return hash.digest('hex');
}

/** Runs a program and copies its output to our stderr; resolves with its stdout. */
function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(out);
      reject(
        new Error(
          `${[command, ...args].join(' ')} ended with ${code ?? signal}:\n${`${out}\n${err}`.trim().split('\n').slice(-30).join('\n')}`,
        ),
      );
    });
  });
}

async function buildWeb(): Promise<string> {
  const folder = path.join(root, 'apps', 'web', 'dist');
  const stamp = path.join(folder, '.stamp');
  const wanted = fingerprint([
    'apps/web/src/**/*.*',
    'apps/web/*.*',
    'packages/contract/src/**/*.*',
    'packages/dataset-files/src/**/*.ts',
    'packages/kit/src/**/*.ts',
    'package-lock.json',
  ]);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return folder;
  say('Building the web app …');
  rmSync(stamp, { force: true });
  await run(
    process.execPath,
    [path.join(root, 'node_modules', 'vite', 'bin', 'vite.js'), 'build', '--logLevel', 'warn'],
    path.join(root, 'apps', 'web'),
  );
  writeFileSync(stamp, wanted);
  return folder;
}

async function release(what: string, version: string, ...more: string[]): Promise<Record<string, unknown>> {
  const text = await run(
    process.execPath,
    [path.join(root, 'tools', 'release.ts'), what, '--release-version', version, ...more],
    root,
  );
  const line = text.trim().split('\n').at(-1) ?? '';
  return JSON.parse(line) as Record<string, unknown>;
}

/** A version unique to its content: the workspace's version and a hash of the program's sources. */
function developmentVersion(app: string): string {
  const { version } = JSON.parse(readFileSync(path.join(root, 'apps', app, 'package.json'), 'utf8')) as {
    version: string;
  };
  const made = fingerprint([
    `apps/${app}/src/**/*.*`,
    'packages/*/src/**/*.*',
    'package-lock.json',
    'tools/release.ts',
    'tools/release/*.ts',
  ]);
  return `${version}-dev.${made.slice(0, 8)}`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { platform: { type: 'string' }, out: { type: 'string' }, web: { type: 'boolean' } },
  });
  if (values.web) return void process.stdout.write(`${JSON.stringify({ web: await buildWeb() })}\n`);
  if (values.platform !== undefined) {
    const where = ['--platform', values.platform, ...(values.out === undefined ? [] : ['--out', values.out])];
    const server = await release('platform-server', developmentVersion('machine-server'), ...where);
    const agent = await release('platform-agent', developmentVersion('agent'), ...where);
    return void process.stdout.write(`${JSON.stringify({ releases: [server, agent] })}\n`);
  }
  mkdirSync(dist, { recursive: true });
  const web = await buildWeb();
  const server = await release('platform-server', developmentVersion('machine-server'));
  const program = await release('platform-agent', developmentVersion('agent'));
  const agent = await release('agent-bundle', developmentVersion('agent'));
  for (const { name, version } of [server, program]) {
    for (const file of globSync(`${String(name)}-*-dev.*`, { cwd: dist })) {
      if (!file.includes(String(version))) rmSync(path.join(dist, file));
    }
  }
  process.stdout.write(`${JSON.stringify({ web, releases: [server, program], agent })}\n`);
}

main().catch((error: unknown) => {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
