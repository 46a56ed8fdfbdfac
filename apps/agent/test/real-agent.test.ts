import assert from 'node:assert/strict';
import { readlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ServerState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Cell } from '@platform/kit';
import { processStartTime, readJson, spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { listen, sha256Of, TestCloud } from './test-cloud.ts';
import { tinyServer } from './tiny-server.ts';

const mainFile = path.join(import.meta.dirname, '../src/main.ts');

async function until<T, R>(
  cell: Cell<T>,
  what: string,
  look: (value: T) => R | undefined | false,
  ms = 30_000,
): Promise<R> {
  const late = new AbortController();
  const timer = systemClock.sleep(ms, late.signal);
  let isLate = false;
  void timer.then(() => (isLate = !late.signal.aborted));
  for (;;) {
    const found = look(cell.get());
    if (found !== undefined && found !== false) {
      late.abort();
      return found;
    }
    await Promise.race([cell.changed(late.signal), timer]);
    if (isLate)
      assert.fail(
        `${what} did not happen; last: ${JSON.stringify(cell.get(), (_, v: unknown) => (typeof v === 'bigint' ? Number(v) : v))}`,
      );
  }
}

test('story: installed, ready, adopted after the agent was killed, restarted, stopped; a corrupt release is refused', async () => {
  await using folder = await tempFolder();
  const cloud = new TestCloud(systemClock);
  await using server = await listen(cloud);
  const root = folder.file('agent');
  const credentials = folder.file('platform.json');
  await writeFile(
    credentials,
    JSON.stringify({ cloud: { app_address: server.url, id: cloud.partId, secret: cloud.secret } }),
  );
  const startAgent = () =>
    spawnGroup({
      command: process.execPath,
      args: [mainFile, '--config', credentials, '--root', root, '--debug'],
      logFile: folder.file('agent.log'),
    });
  const publish = (version: string, corrupt = false) => {
    const bytes = Buffer.from(tinyServer(version));
    const sha256 = sha256Of(bytes);
    if (corrupt) bytes[bytes.length - 3]! ^= 1;
    // The agent backs off from a source that failed, so the correct file gets another URL.
    const place = corrupt ? `/${version}-corrupt` : `/${version}`;
    cloud.serverRelease.set({ version, sha256, url: server.publish(place, { bytes }) });
  };
  const isRunning =
    (version: string) =>
    (r = cloud.report.get()) =>
      r?.serverState === ServerState.RUNNING && r.server?.runningVersion === version && r.serverUrl !== '' && r;

  publish('1.0.0');
  let agent = await startAgent();
  await using _ = { [Symbol.asyncDispose]: async () => void (await agent.stop({ termMs: 10_000 })) };
  await until(cloud.report, '1.0.0 runs', isRunning('1.0.0'));
  await until(cloud.report, 'it may be restarted', (r) => r?.restartAllowed);
  const record = (await readJson(path.join(root, 'state/server.json'))) as { pid: number };
  const logged = (text: RegExp) => until(cloud.lines, String(text), (lines) => lines.find((l) => text.test(l.message)));
  const line = await logged(/^tiny server 1\.0\.0/);
  assert.deepEqual([line.level, line.logger], ['warn', 'platform-server.StdErr']);

  // A second agent for the same folder reports the running one and exits.
  const second = await startAgent();
  assert.deepEqual(await second.exited, { code: 3, signal: null });

  // kill -9: the server keeps running, and the next agent adopts it.
  process.kill(agent.pid, 'SIGKILL');
  assert.deepEqual(await agent.exited, { code: null, signal: 'SIGKILL' });
  assert.ok(processStartTime(record.pid));
  agent = await startAgent();
  const adopted = await logged(/^adopted the machine server of an earlier agent$/);
  assert.deepEqual(adopted.fields, {
    pid: record.pid,
    version: `1.0.0-${sha256Of(tinyServer('1.0.0')).toString('hex').slice(0, 12)}`,
  });
  await until(cloud.report, 'the adopted one is reported', isRunning('1.0.0'));

  // A release with a wrong hash changes nothing, and the agent reports it.
  publish('1.1.0', true);
  const failed = await until(cloud.report, 'the refusal', (r) =>
    r?.conditions.find((c) => c.code === 'DOWNLOAD_CORRUPT'),
  );
  assert.match(failed.message, /does not have the expected sha256/);
  assert.equal(processStartTime(record.pid) === undefined, false);

  // The correct release is installed and starts at the restart that a user requests.
  publish('1.1.0');
  const next = await until(cloud.report, 'restart needed', (r) => r?.server?.restartNeeded && r);
  assert.deepEqual([next.server?.runningVersion, next.server?.installedVersion], ['1.0.0', '1.1.0']);
  assert.equal(
    next.conditions.some((c) => c.code === 'DOWNLOAD_CORRUPT'),
    false,
  );
  cloud.askForRestart();
  await until(cloud.report, '1.1.0 runs', isRunning('1.1.0'));
  assert.equal(processStartTime(record.pid), undefined);

  // The agent restarts a crashed server.
  const url = cloud.report.get()!.serverUrl;
  await fetch(`${url}/crash`).catch(() => {});
  await until(cloud.report, 'the crash', (r) => r?.lastExit === 'exit 3');
  await until(cloud.report, 'running again', isRunning('1.1.0'));

  // TERM: the agent and the server with its child exit; the last lines arrive.
  const now = (await readJson(path.join(root, 'state/server.json'))) as { pid: number };
  const { message } = await logged(new RegExp(`with process ${now.pid} and child`));
  const child = Number(/child (\d+)/.exec(message)?.[1]);
  assert.ok(processStartTime(child));
  process.kill(agent.pid, 'SIGTERM');
  assert.deepEqual(await agent.exited, { code: 0, signal: null });
  assert.equal(processStartTime(now.pid), undefined);
  while (processStartTime(child)) await systemClock.sleep(10);
  // The final report and the loops that send the last lines still write debug lines after it.
  assert.equal(cloud.lines.get().findLast(({ level }) => level !== 'debug')?.message, 'platform agent ends');
  const id = `1.1.0-${sha256Of(tinyServer('1.1.0')).toString('hex').slice(0, 12)}`;
  assert.equal(await readlink(path.join(root, 'bin/platform-server')), `../versions/${id}/platform-server`);

  const starts = cloud.lines
    .get()
    .filter((l) => l.message.startsWith('tiny server'))
    .map((l) => /server (\S+) with/.exec(l.message)?.[1]);
  assert.deepEqual(starts, ['1.0.0', '1.1.0', '1.1.0']); // each line arrives once
});
