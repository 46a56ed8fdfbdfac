import path from 'node:path';
import { readJson } from '@platform/kit/node';
import { knownAccounts } from './accounts.ts';
import { keepBackupKey } from './backup-key.ts';
import { places } from './places.ts';
import { localUrl } from './readiness.ts';
import { readServerOptions, writeIfOther } from './server-options.ts';

/** The credentials file of the management server. */
export interface FirstRun {
  readonly org_id: string;
  readonly api_key_id: string;
  readonly api_key: string | null;
  readonly runner_key_id: string;
  readonly runner_key: string | null;
  readonly sign_in_url: string;
}

export const readFirstRun = async (): Promise<FirstRun | undefined> =>
  (await readJson(path.join(places.data, 'cloud/first-run.json'))) as FirstRun | undefined;

const connectionFile = path.join(places.data, 'connection.json');

/** Passes the keys of the first start to the runner and to the command line of root. */
export async function writeKeysOfFirstStart(): Promise<boolean> {
  const firstRun = await readFirstRun();
  keepBackupKey();
  if (!firstRun) return false;
  const url = await localUrl();
  const { runner } = knownAccounts();
  const runnerOptions = { url, api_key_id: firstRun.runner_key_id, api_key: firstRun.runner_key };
  const runnerFile = path.join(places.settings, 'runner.json');
  const isOther =
    firstRun.runner_key !== null && (await writeIfOther(runnerFile, runnerOptions, { mode: 0o600, owner: runner }));
  const { org_id, api_key_id, api_key } = firstRun;
  const { public_url } = await readServerOptions();
  const connection = {
    url: public_url ?? url,
    local_url: url,
    org_id,
    ...(api_key !== null && { api_key_id, api_key }),
  };
  await writeIfOther(connectionFile, connection, { mode: 0o600 });
  return isOther;
}
