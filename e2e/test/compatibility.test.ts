// Each release reads what the releases before it wrote: a backup, the folder of an agent, its spool.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { clientOf, startCloudAt } from '../src/cloud-process.ts';
import {
  agentOf,
  answersOf,
  backupOf,
  compatibilityFolder,
  machineState,
  readKept,
  unpack,
  untilMachine,
} from './compatibility.ts';
import { endState } from '../src/end-state.ts';
import { startSourceAgent } from '../src/script-server.ts';
import { linesOf } from '../src/server-processes.ts';
import { checkout, dataFolder, runCli } from '../src/up-process.ts';

const versions = readdirSync(compatibilityFolder);
assert.ok(versions.length > 0);

for (const version of versions)
  test(`a backup, an agent and its spool of version ${version}: all of it is there`, async () => {
    const fixture = path.join(compatibilityFolder, version);
    const kept = await readKept(fixture);
    await using folder = await dataFolder();
    const dataDir = folder.file('cloud');
    const restore = ['admin', 'restore', backupOf(fixture), '--data-dir', dataDir, '--accept-unauthenticated'];
    const restored = await runCli({}, ...restore);
    assert.equal(restored.code, 0, restored.stderr);
    // The lines are of the day of the release.
    await using cloud = await startCloudAt({ checkout, dataDir, port: 0 }, '--log-days', '36500');
    const { url } = cloud.ready;
    assert.deepEqual(await endState(folder.path), kept.rows);
    const client = clientOf({ ...cloud.ready, api_key_id: kept.apiKey.id, api_key: kept.apiKey.key });
    assert.deepEqual(JSON.parse(JSON.stringify(await answersOf(client, kept.orgId))), kept.answers);

    await unpack(agentOf(fixture), folder.path);
    const credentials = { ...kept.credentials, cloud: { ...kept.credentials.cloud, app_address: url } };
    await writeFile(folder.file('platform.json'), JSON.stringify(credentials), { mode: 0o600 });
    const since = systemClock.wall();
    await using agent = await startSourceAgent(folder.path);
    const of = { id: kept.machineId, since, what: 'the machine is back with its server', log: agent.log };
    const machine = await untilMachine(client, of, ({ report }) => {
      const { runningVersion, installedVersion } = report?.server ?? {};
      return runningVersion !== undefined && runningVersion !== '' && runningVersion === installedVersion;
    });
    assert.deepEqual(machineState(machine), kept.machine);
    const isThere = (lines: readonly string[], text: string): boolean =>
      lines.some((line) => line.includes(`"${text}"`));
    for (;;) {
      const lines = await linesOf(folder.path);
      const missing = kept.waiting.filter((text) => !isThere(lines, text));
      if (missing.length === 0) {
        const all = new Set(lines);
        assert.deepEqual(
          kept.lines.filter((line) => !all.has(line)),
          [],
        );
        break;
      }
      assert.ok(systemClock.wall() - since < 60_000, `not uploaded: ${missing.join(', ')}\n${await agent.log()}`);
      await systemClock.sleep(100);
    }
    await agent[Symbol.asyncDispose](); // while its server answers
  });
