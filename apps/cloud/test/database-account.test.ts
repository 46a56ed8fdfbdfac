// Creates the system user of the database where it is missing, in a mount namespace with its own /etc.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { accountName, sharedAccount } from '../src/postgres/account.ts';
import { processState, readPostmaster } from '../src/postgres/postmaster.ts';

const call = promisify(execFile);
const hidden = ['groupadd', 'useradd'].map((name) => `mount --bind /dev/null /usr/sbin/${name}`);

test('the system user of the database: created once, also by several servers at once; without it, the user nobody', async () => {
  if (process.getuid?.() !== 0) return;
  await using folder = await tempFolder();
  chmodSync(folder.path, 0o711);
  const etc = folder.file('etc');
  await call('cp', ['-a', '/etc', etc]);
  const forget = (): void => {
    for (const name of ['passwd', 'group', 'shadow', 'gshadow']) {
      const file = path.join(etc, name);
      const lines = readFileSync(file, 'utf8').split('\n');
      writeFileSync(file, lines.filter((line) => !line.startsWith(`${accountName}:`)).join('\n'));
    }
  };
  const known = (): number =>
    Number(new RegExp(`^${accountName}:[^:]*:(\\d+):`, 'm').exec(readFileSync(path.join(etc, 'passwd'), 'utf8'))?.[1]);
  const home = (name: string): string => {
    mkdirSync(folder.file(name), { recursive: true, mode: 0o711 });
    return folder.file(name, 'postgres');
  };
  /** Opens the database of this folder after `mounts`. @returns its log. */
  const open = async (at: string, mounts: readonly string[] = []): Promise<string> => {
    const script = path.join(import.meta.dirname, 'open-database.ts');
    const setUp = [`mount --bind ${etc} /etc`, ...mounts, 'exec "$@"'].join(' && ');
    const node = [process.execPath, '--disable-warning=ExperimentalWarning', script, '--home', at];
    const { stdout, stderr } = await call('unshare', ['-m', 'sh', '-c', setUp, 'x', ...node]);
    assert.equal(stdout, 'open\n', stderr);
    return stderr;
  };
  const stop = async (at: string): Promise<void> => {
    const { pid } = (await readPostmaster(path.join(at, '18'))) ?? assert.fail('no database runs');
    process.kill(pid, 'SIGINT');
    while ((await processState(pid)) !== 'gone') await systemClock.sleep(10);
  };
  const ownerOf = (at: string): number => statSync(path.join(at, '18')).uid;

  forget();
  const first = home('first');
  assert.match(await open(first, hidden), /^the database runs as nobody, because its system user cannot be created/m);
  assert.deepEqual([ownerOf(first), known()], [sharedAccount.uid, Number.NaN]);
  const intruder = path.join(import.meta.dirname, 'connect-as.ts');
  const refused = [String(sharedAccount.uid), path.join(first, '18'), 'platform', 'platform'];
  assert.match((await call(process.execPath, [intruder, ...refused])).stdout, /^EACCES|^28000/);

  // The user can be created now: the running database is stopped and migrated.
  assert.match(await open(first), /^created the system user of the database$/m);
  assert.ok(known() > 0 && ownerOf(first) === known(), `${known()}`);
  assert.doesNotMatch(await open(first), /created|nobody/);
  await stop(first);

  forget();
  const both = ['one', 'two', 'three'].map(home);
  await Promise.all(both.map((at) => open(at)));
  for (const at of both) {
    assert.equal(ownerOf(at), known());
    await stop(at);
  }
});
