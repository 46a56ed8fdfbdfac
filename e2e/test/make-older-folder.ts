// Makes the fixture e2e/older-folder: the data of a server of an older commit, as a backup, and what its API answers of them.
//   node e2e/test/make-older-folder.ts
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { olderCheckout } from '../lab/older-checkout.ts';
import { clientOf, startCloudAt } from '../src/cloud-process.ts';
import { endState } from '../src/end-state.ts';
import { fixture, type OlderState, answersOf } from './older-folder.ts';
import { jsonCli } from '../src/script-server.ts';
import { linesOf } from '../src/server-processes.ts';
import { makeModel } from '../src/small-model.ts';
import { checkout, dataFolder, runCli } from '../src/up-process.ts';
import { wireMachine } from '../src/wire-callers.ts';

/** The last commit before data folders got samples, facts of machines, files beside releases, and keys for metrics. */
const commit = '57182104';

await using folder = await dataFolder();
const keys = folder.file('keys');
const made: { state?: OlderState } = {};
{
  await using cloud = await startCloudAt({
    checkout: await olderCheckout(commit),
    dataDir: folder.file('cloud'),
    port: 0,
  });
  const { ready } = cloud;
  const { url } = ready;
  const json = jsonCli({
    PLATFORM_URL: url,
    PLATFORM_API_KEY_ID: ready.api_key_id,
    PLATFORM_API_KEY: ready.api_key,
    PLATFORM_RELEASE_KEYS: keys,
  });
  const client = clientOf(ready);
  await json('release', 'keys', 'init', keys);
  for (const version of ['1.0.0', '1.1.0']) {
    const file = folder.file(`server-${version}`);
    await writeFile(file, `#!/bin/sh\necho ${version}\n`);
    await writeFile(`${file}.json`, JSON.stringify({ name: 'platform-server', version, platform: 'linux/amd64' }));
    await json('release', 'publish', file, '--channel', 'stable');
  }
  const credentials: unknown[] = [];
  for (const name of ['press', 'saw']) credentials.push((await json('machine', 'create', name))['credentials']);
  await json('machine', 'pin', 'press', 'server', '1.0.0');
  for (const [at, one] of credentials.entries()) {
    const machine = await wireMachine(JSON.stringify(one));
    await machine.check({ hostname: `host-${at}`, platform: 'linux/amd64' });
    for (let n = 0; n < 5; n++)
      await machine.log({ level: 'info', message: `line ${n} of machine ${at}`, at: Date.now() - 60_000 + n });
  }
  await json('key', 'create', 'reader', '--role', 'operator');
  await makeModel(client, ready);
  made.state = {
    commit,
    apiKey: { id: ready.api_key_id, key: ready.api_key },
    credentials,
    rows: await endState(folder.path),
    lines: await linesOf(folder.path),
    answers: await answersOf(client, ready.org_id),
  };
}
await rm(fixture, { recursive: true, force: true });
const { code, stderr } = await runCli(
  {},
  'admin',
  'backup',
  path.join(fixture, 'backup'),
  '--data-dir',
  folder.file('cloud'),
);
if (code !== 0) throw new Error(stderr);
await writeFile(path.join(fixture, 'state.json'), `${JSON.stringify(made.state, null, 1)}\n`);
process.stdout.write(`Wrote ${path.relative(checkout, fixture)}.\n`);
