/** The program itself: killed while a script runs, started where there is no bubblewrap, run by a user who is not root. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { tempFolder } from '@platform/kit/testing';
import { sandboxPrefix } from '../src/script/open-scripts.ts';
import { end, start } from './runner-program.ts';
import { begin, groupsOf, packed, save, setup } from './script-stage.ts';
import { QueueServer, type QueuedJob } from './queue-server.ts';

async function submit(server: QueueServer, training: string): Promise<QueuedJob> {
  const archive = await packed({ 'setup.py': setup, 'model/__init__.py': '', 'model/training.py': begin + training });
  const script = { registry_item_id: 'org:script', version: '1', package_sha256: server.store(archive) };
  return server.submit({ kind: 'custom', script, limits: { wall_seconds: 60, memory_mib: 512, disk_mib: 32 } });
}
async function runsWith(word: string): Promise<boolean> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    if ((await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes(word)) return true;
  }
  return false;
}

test('kill −9: the sandbox dies with the runner, and the next start clears up and runs the job again', async () => {
  await using folder = await tempFolder();
  await using server = new QueueServer();
  const url = await server.start();
  const job = await submit(
    server,
    `
say("attempt")
if os.fork() == 0: os.setsid()
time.sleep(3 if os.path.exists("/never") else 0.5)
while not open(args.dataset_file).readline().startswith("never"): time.sleep(1)`,
  );
  job.spec.arguments = { mark: 'marked-by-the-kill-test' };
  const first = start(url, folder.path);
  await server.until('begun', () => job.logs.some(({ message }) => message === 'attempt'));
  assert.equal(await runsWith('marked-by-the-kill-test'), true);
  await end(first, 'SIGKILL');
  await server.untilAsync('the end of the script', async () => !(await runsWith('marked-by-the-kill-test')));

  const script = await packed({ 'setup.py': setup, 'model/training.py': begin + save });
  Object.assign(job.spec, {
    script: { registry_item_id: 'org:script', version: '2', package_sha256: server.store(script) },
  });
  const second = start(url, folder.path);
  await server.until('completed', () => job.state === 'completed');
  assert.equal(job.attempt, 2);
  await end(second, 'SIGTERM');
  assert.deepEqual(await readdir(folder.file('jobs')), []);
  assert.deepEqual(groupsOf(sandboxPrefix(folder.path)), []);
});

test('what the runner inherited open does not reach a script, nor its setup.py', async () => {
  await using folder = await tempFolder();
  await using server = new QueueServer();
  const url = await server.start();
  const look = `
import os
def is_open(fd):
    try: return os.fstat(fd) is not None
    except OSError: return False
print("open", [fd for fd in range(3, 4096) if is_open(fd)], flush=True)
`;
  const files = { 'setup.py': look + setup, 'model/training.py': `${begin}${look}${save}` };
  const script = { registry_item_id: 'org:script', version: '1', package_sha256: server.store(await packed(files)) };
  const job = server.submit({ kind: 'custom', script, limits: { wall_seconds: 60, memory_mib: 512, disk_mib: 32 } });
  const runner = start(url, folder.path);
  await server.until('completed', () => job.state === 'completed');
  assert.deepEqual(
    job.logs.filter(({ message }) => message.startsWith('open')).map(({ message }) => message),
    ['open []', 'open []'],
  );
  await end(runner, 'SIGTERM');
});

test('where bubblewrap is forbidden the runner offers no scripts, and says why and what to do', async () => {
  await using folder = await tempFolder();
  await using server = new QueueServer();
  const url = await server.start();
  await mkdir(folder.file('bin'));
  await writeFile(
    folder.file('bin', 'bwrap'),
    '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n',
  );
  await chmod(folder.file('bin', 'bwrap'), 0o755);
  const job = await submit(server, save);
  const runner = start(url, folder.file('runner'), { PATH: `${folder.file('bin')}:${process.env['PATH']}` });
  await server.until('an offer', () => server.offers.length > 0);
  const [offer] = server.offers;
  assert.ok(!offer?.kinds.includes('custom'));
  assert.match(
    offer?.noScriptsBecause ?? '',
    /No permissions to create new namespace\. Allow user namespaces \(sysctl/,
  );
  assert.match(runner.output(), /training scripts do not run here/);
  assert.equal(job.state, 'pending');
  await end(runner, 'SIGTERM');
});

/** A bubblewrap that works, and one that does not, under the same name. */
const bubblewraps = {
  works: '#!/bin/sh\nexec /usr/bin/bwrap "$@"\n',
  fails: '#!/bin/sh\necho "bwrap: broken" >&2\nexit 1\n',
} as const;

test('a bubblewrap that comes, and one that goes, while the runner runs: offers, scripts and trainers follow', async () => {
  await using folder = await tempFolder();
  await using server = new QueueServer();
  const url = await server.start();
  await mkdir(folder.file('bin'));
  const install = async (how: keyof typeof bubblewraps): Promise<void> => {
    await writeFile(folder.file('bin', 'bwrap'), bubblewraps[how]);
    await chmod(folder.file('bin', 'bwrap'), 0o755);
  };
  /** The line about its sandbox, from a job that fails because its files are not images. */
  const trained = async (): Promise<string | undefined> => {
    const job = server.submit({ limits: { wall_seconds: 60, memory_mib: 2048, disk_mib: 64 } });
    await server.until('the end', () => job.state === 'failed' && server.offers.length > 0);
    assert.equal(job.failure?.cause, 'data', job.failure?.message);
    return job.logs.map(({ message }) => message).find((message) => /^(No sandbox|Sandbox)/.test(message));
  };
  const offersScripts = (): boolean => server.offers.at(-1)?.kinds.includes('custom') === true;
  const offersBefore = (): number => server.offers.length;

  await install('fails');
  const runner = start(url, folder.file('runner'), { PATH: `${folder.file('bin')}:${process.env['PATH']}` });
  assert.match(
    (await trained()) ?? '',
    /^No sandbox: the trainer runs with the rights of the runner\..* bwrap: broken/,
  );
  assert.equal(offersScripts(), false);
  await install('works');
  let before = offersBefore();
  assert.match((await trained()) ?? '', /^Sandbox: bubblewrap with /);
  await server.until('an offer of scripts', () => server.offers.length > before && offersScripts());
  const script = await submit(server, save);
  await server.until('completed', () => script.state === 'completed');
  await install('fails');
  before = offersBefore();
  assert.match((await trained()) ?? '', /^No sandbox/);
  await server.until('an offer without scripts', () => server.offers.length > before && !offersScripts());
  assert.match(server.offers.at(-1)?.noScriptsBecause ?? '', /broken/);
  await end(runner, 'SIGTERM');
});

test('the offer names the containers, with the end of their support', async () => {
  await using folder = await tempFolder();
  await using server = new QueueServer();
  const runner = start(await server.start(), folder.path);
  await server.until('an offer', () => server.offers.length > 0);
  const [offer] = server.offers;
  assert.ok(offer?.kinds.includes('custom'));
  assert.deepEqual([offer?.noScriptsBecause, offer?.containers.map(({ key }) => key)], ['', ['py:3.11']]);
  assert.match(offer?.containers[0]?.uri ?? '', /^host:\/usr\/bin\/python3/);
  assert.equal(offer?.containers[0]?.eol?.seconds, BigInt(Date.UTC(2027, 9, 31) / 1000));
  await end(runner, 'SIGTERM');
});

test('without root: user namespaces, limits of each process, the same walls', async () => {
  await using folder = await tempFolder();
  // A copy that everybody may read: the checkout may lie in a home.
  const root = path.resolve(import.meta.dirname, '../../..');
  const checkout = folder.file('checkout');
  await mkdir(checkout);
  for (const name of ['packages', 'package.json'])
    await cp(path.join(root, name), path.join(checkout, name), { recursive: true });
  await mkdir(path.join(checkout, 'node_modules/@platform'), { recursive: true });
  for (const name of ['tar-stream', 'streamx', 'b4a', 'fast-fifo', 'text-decoder', 'events-universal', '@bufbuild']) {
    await cp(path.join(root, 'node_modules', name), path.join(checkout, 'node_modules', name), { recursive: true });
  }
  for (const name of ['contract', 'kit', 'sandbox']) {
    await symlink(path.join(checkout, 'packages', name), path.join(checkout, 'node_modules/@platform', name));
  }
  await cp(process.execPath, folder.file('node'));
  await mkdir(folder.file('work'));
  await chmod(folder.file('work'), 0o777);
  await cp(fileURLToPath(new URL('unprivileged.mjs', import.meta.url)), path.join(checkout, 'unprivileged.mjs'));
  const done = spawnSync(
    folder.file('node'),
    ['--experimental-strip-types', '--disable-warning=ExperimentalWarning', path.join(checkout, 'unprivileged.mjs')],
    {
      cwd: folder.file('work'),
      uid: 65_534,
      gid: 65_534,
      env: { PATH: '/usr/bin:/bin', HOME: folder.file('work'), TMPDIR: folder.file('work') },
      encoding: 'utf8',
      timeout: 120_000,
    },
  );
  assert.equal(done.status, 0, done.stderr);
  const results = new Map(
    Object.entries(JSON.parse(done.stdout) as Record<string, { end: { is: string }; lines: string[] }>),
  );
  const how = (name: string): string => results.get(name)?.end.is ?? 'nothing';
  const linesOf = (name: string): readonly string[] => results.get(name)?.lines ?? [];
  assert.equal(how('kind'), 'prlimit');
  assert.deepEqual(linesOf('who'), ['65534', 'script', '/job', "['out', 'runs']"]);
  assert.deepEqual(linesOf('escapes'), ['closed', 'closed', 'closed', 'closed']);
  assert.ok(linesOf('memory').includes('MemoryError'), done.stdout);
  assert.deepEqual([how('memory'), how('memoryOfChild')], ['outOfMemory', 'outOfMemory'], done.stdout);
  assert.equal(how('memoryTogether'), 'outOfMemory', done.stdout);
  assert.equal(how('disk'), 'diskLimit', done.stdout);
  assert.ok(linesOf('forks').includes('held'), done.stdout);
  assert.equal(how('stop'), 'stopped', done.stdout);
  assert.ok(linesOf('stop').includes('saving'), done.stdout);
});
