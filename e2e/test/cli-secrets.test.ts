// Only their owner can read secrets that the command line prints or writes. Also covers the audit on the command line.
import assert from 'node:assert/strict';
import { chmodSync, closeSync, lstatSync, openSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { plainEnvironment, spawnGroup } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { checkout, runCli } from '../src/up-process.ts';

type Json = Record<string, unknown>;
const modeOf = (file: string): number => statSync(file).mode & 0o777;

test('credentials, keys, links and configurations: every file is 0600, also one that others could read; no link is followed', async () => {
  await using cloud = await startCloud();
  await using files = await tempFolder();
  const { ready } = cloud;
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  /** Runs `platform … > file` as a shell does, which has opened the file. */
  const redirected = async (file: string, ...args: string[]): Promise<number | null> => {
    closeSync(openSync(file, 'a'));
    chmodSync(file, 0o644);
    const group = await spawnGroup({
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', `${checkout}/apps/cli/src/main.ts`, ...args],
      env: plainEnvironment(env),
      stdoutFile: file,
    });
    return (await group.exited).code;
  };
  const created = JSON.parse((await runCli(env, 'machine', 'create', 'press', '--json')).stdout) as {
    credentials: { cloud: { secret: string } };
  };
  const { secret } = created.credentials.cloud;

  const lines = [
    'machine credentials press',
    'machine credentials press --json',
    'machine create saw',
    'key create one --json',
    'runner token',
    'sign-in',
    'config get press',
  ];
  for (const [i, line] of lines.entries()) {
    const file = files.file(`printed-${i}`);
    assert.equal(await redirected(file, ...line.split(' ')), 0, line);
    assert.equal(modeOf(file), 0o600, line);
    assert.notEqual(readFileSync(file, 'utf8'), '', line);
  }
  assert.ok(readFileSync(files.file('printed-0'), 'utf8').includes(secret));
  const list = files.file('list');
  assert.equal(await redirected(list, 'machine', 'list'), 0);
  assert.equal(modeOf(list), 0o644, 'a file without secrets stays as it was');

  // --output: onto a file that others could read, and onto a link.
  const [old, target, link] = [files.file('old.json'), files.file('target'), files.file('link.json')];
  writeFileSync(old, 'old', { mode: 0o644 });
  writeFileSync(target, 'of another user');
  symlinkSync(target, link);
  for (const file of [old, link, files.file('new.json')]) {
    const { code, stdout, stderr } = await runCli(env, 'machine', 'credentials', 'press', '--output', file);
    assert.equal(code, 0, stderr);
    assert.ok(!stdout.includes(secret));
    assert.equal(modeOf(file), 0o600, file);
    assert.ok(!lstatSync(file).isSymbolicLink());
    assert.equal((JSON.parse(readFileSync(file, 'utf8')) as { cloud: { secret: string } }).cloud.secret, secret);
  }
  assert.equal(readFileSync(target, 'utf8'), 'of another user');

  if (process.getuid?.() === 0) {
    // A root shell follows a link into another user's file: the command prints nothing there.
    const foreign = files.file('foreign');
    writeFileSync(foreign, '', { mode: 0o644 });
    const chown = await spawnGroup({ command: 'chown', args: ['65533', foreign] });
    await chown.exited;
    assert.notEqual(await redirected(foreign, 'machine', 'credentials', 'press'), 0);
    assert.equal(readFileSync(foreign, 'utf8'), '');
  }

  // After a key rotation, the new key works, the old one does not, and the audit names the caller.
  const made = JSON.parse((await runCli(env, 'key', 'create', 'second', '--json')).stdout) as Record<string, string>;
  const rotated = await runCli(env, 'key', 'rotate', String(made['api_key_id']), '--json');
  const { api_key: key } = JSON.parse(rotated.stdout) as { api_key: string };
  const as = (payload: string) => ({
    ...env,
    PLATFORM_API_KEY_ID: String(made['api_key_id']),
    PLATFORM_API_KEY: payload,
  });
  assert.equal((await runCli(as(key), 'machine', 'list')).code, 0);
  assert.equal((await runCli(as(String(made['api_key'])), 'machine', 'list')).code, 3);

  const audit = await runCli(env, 'audit', '--since', '1h', '--action', 'rotate key', '--json');
  const [entry, ...more] = JSON.parse(audit.stdout) as Json[];
  assert.deepEqual(more, []);
  assert.deepEqual(
    [entry?.['actor'], entry?.['action'], entry?.['subject'], entry?.['details']],
    [`api_key first key (${ready.api_key_id})`, 'rotate key', made['api_key_id'], { name: 'second' }],
  );
  const text = (await runCli(env, 'audit', '-n', '3')).stdout;
  assert.match(text, /^TIME +ACTION +ACTOR +SUBJECT +DETAILS\n/);
  assert.equal(text.trim().split('\n').length, 4);
  const installation = await runCli(env, 'audit', '--installation', '--json');
  assert.deepEqual(JSON.parse(installation.stdout), []);
  assert.equal((await runCli(env, 'audit', '--since', 'yesterday')).code, 2);
});
