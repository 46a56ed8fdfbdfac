// What is ended after the process of the hotspot's page, on this machine.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { endProcessesOf } from '../src/network/endpoints/confinement.ts';

/** In the range that systemd gives to services; each run has another. */
const uid = 61_184 + (process.pid % 4_000);
const isRoot = process.getuid?.() === 0;

async function sleeping(): Promise<{ child: ChildProcess; ended: Promise<unknown> }> {
  const child = spawn('sleep', ['600'], isRoot ? { uid, gid: uid } : {});
  await once(child, 'spawn');
  return { child, ended: once(child, 'exit').then(([, signal]: unknown[]) => signal) };
}

/** Another control group than that of this process, as a service of systemd has; undefined: none can be made here. */
async function otherGroup(): Promise<string | undefined> {
  for (const hierarchy of ['/sys/fs/cgroup/freezer', '/sys/fs/cgroup']) {
    const folder = path.join(hierarchy, `platform-test-${process.pid}`);
    const isMade = await mkdir(folder).then(
      () => true,
      () => false,
    );
    if (isMade) return folder;
  }
  return undefined;
}

test('processes of its user are ended, but not a service that has got the same user', async () => {
  const [own, service] = [await sleeping(), await sleeping()];
  const group = isRoot ? await otherGroup() : undefined;
  try {
    if (group !== undefined) await writeFile(path.join(group, 'cgroup.procs'), String(service.child.pid));
    await endProcessesOf({ prefix: [], user: undefined, uid: isRoot ? uid : undefined });
    // Without root, the process has the user of the agent: nothing may be ended by its user.
    if (isRoot) assert.equal(await own.ended, 'SIGKILL');
    if (group !== undefined || !isRoot) assert.equal(service.child.kill(0), true);
  } finally {
    own.child.kill('SIGKILL');
    service.child.kill('SIGKILL');
    await Promise.all([own.ended, service.ended]);
    if (group !== undefined) await rmdir(group);
  }
});
