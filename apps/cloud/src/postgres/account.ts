import { spawn } from 'node:child_process';
import { PlatformError } from '@platform/contract/errors/errors';
import { type Clock, errorText, type Log } from '@platform/kit';
import { FolderLocked, lockFolder } from '@platform/kit/node';

/** The account that runs the database: PostgreSQL refuses to run as root. Undefined: the server's own account. */
export type Account = { uid: number; gid: number } | undefined;

/** The system user that a server running as root creates for its databases. */
export const accountName = 'platform-db';

/** "nobody" exists on every system, but other programs use it, too. Only used where no user can be created. */
export const sharedAccount = { uid: 65534, gid: 65534 } as const;

const programs = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

/** The group comes first, so that an interrupted creation can be repeated. */
const creation: readonly string[] = [
  `groupadd --system ${accountName}`,
  `useradd --system --gid ${accountName} --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin ${accountName}`,
];

/** Creation is locked: of two concurrent useradd, the second replaced the first one's user with another ID. */
const lockFile = '/run/platform-db.lock';
const lockMs = 30_000;
const againMs = 50;

/**
 * A server running as root creates the account at its first start. Any other server runs the database under its own
 * account. Decision 0019.
 */
export async function databaseAccount(clock: Clock, log: Log): Promise<Account> {
  if (process.getuid?.() !== 0) return undefined;
  const known = await findAccount();
  if (known) return known;
  for (const start = clock.now(); ; await clock.sleep(againMs)) {
    try {
      await using _lock = await lockFolder(lockFile);
      return (await findAccount()) ?? (await createAccount(log));
    } catch (error) {
      if (!(error instanceof FolderLocked) || clock.now() - start > lockMs) throw error;
    }
  }
}

async function createAccount(log: Log): Promise<Account> {
  const problems: string[] = [];
  for (const step of creation) {
    const [program = '', ...args] = step.split(' ');
    const { code, text } = await runToEnd(program, args).catch((error: unknown) => ({
      code: null,
      text: errorText(error),
    }));
    if (code !== 0) problems.push(`${program}: ${text.trim().slice(-200)}`);
  }
  const created = await findAccount();
  if (created) {
    log.info('created the system user of the database', { user: accountName, uid: created.uid });
    return created;
  }
  log.warn('the database runs as nobody, because its system user cannot be created; create it, then start again', {
    user: accountName,
    problems,
  });
  return sharedAccount;
}

async function findAccount(): Promise<Account> {
  const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => runToEnd('id', [flag, accountName])));
  if (uid?.code !== 0 || gid?.code !== 0) return undefined;
  const account = { uid: Number(uid.text), gid: Number(gid.text) };
  if (account.uid === 0) {
    throw new PlatformError('DATABASE_UNAVAILABLE', {
      problem: `user ${accountName} has the id 0; PostgreSQL does not run as root`,
    });
  }
  return account;
}

/** Runs a system program, or a PostgreSQL program as `account`, and collects its output. */
export function runToEnd(
  command: string,
  args: readonly string[],
  options: { account?: Account; cwd?: string; env?: Record<string, string> } = {},
): Promise<{ code: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      ...options.account,
      cwd: options.cwd ?? '/',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: options.env ?? programs,
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, text: Buffer.concat(chunks).toString() }));
  });
}
