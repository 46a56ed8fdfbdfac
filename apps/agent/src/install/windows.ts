import { copyFile, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Clock, Log } from '@platform/kit';
import { atomicWrite } from '@platform/kit/node';
import { windowsFileSystem } from '../os/windows/file-system.ts';
import { keeperPath, serviceName } from '../os/windows/places.ts';
import { windowsService } from '../os/windows/win32.ts';
import type { Candidate } from './facts.ts';
import { placeSelf } from './self.ts';

const restartMs = 5_000;
const lookMs = 500;
const stopMs = 240_000;
const startMs = 60_000;
const goneMs = 15_000;

export interface WindowsParts {
  root: string;
  credentialsFile: string;
  /** Undefined: the file is there and stays. */
  credentials: string | undefined;
  candidate: Candidate;
  isStarted: boolean;
  clock: Clock;
  log: Log;
  said: (text: string) => void;
}

/** Lays everything down and makes the service. Safe to repeat; what runs is restarted when it is another version. */
export async function installOnWindows(parts: WindowsParts): Promise<void> {
  const { root, credentialsFile, credentials, candidate, clock, log, said } = parts;
  if (credentials !== undefined) {
    await mkdir(path.dirname(credentialsFile), { recursive: true });
    await atomicWrite(credentialsFile, credentials, { mode: 0o600 });
    said(`wrote ${credentialsFile}`);
  }
  await mkdir(root, { recursive: true });
  const id = await placeSelf(candidate, { files: windowsFileSystem(root), clock, log });
  said(`stored and chose version ${id}`);
  const service = await windowsService(serviceName);
  const keeper = path.join(root, keeperPath);
  const hasKeeper = await readFile(keeper).then(
    () => true,
    () => false,
  );
  if (!hasKeeper) {
    await copyFile(candidate.file, `${keeper}.tmp`);
    await rename(`${keeper}.tmp`, keeper);
  }
  const before = await service.state();
  await service.install({
    displayName: 'Platform agent',
    description: 'Keeps the machine server of this machine installed, running and up to date.',
    commandLine: `"${keeper}" service --root "${root}" --config "${credentialsFile}"`,
    restartMs,
  });
  said(before === 'absent' ? `made the service ${serviceName}` : `the service ${serviceName} is there`);
  if (!parts.isStarted) return;
  await stopService(service, clock);
  await startService(service, clock);
  said(`started the service ${serviceName}`);
}

export async function uninstallOnWindows(
  { root, credentialsFile }: { root: string; credentialsFile: string | undefined },
  clock: Clock,
): Promise<{ done: string[]; left: string[] }> {
  const done: string[] = [];
  const service = await windowsService(serviceName);
  if ((await service.state()) !== 'absent') {
    await stopService(service, clock);
    await service.remove();
    done.push(`removed the service ${serviceName}`);
  }
  const look = async () => (await readdir(root).catch(() => [])).map((name) => path.join(root, name));
  let left = await look();
  // Windows keeps the file of a program for a moment after its end.
  for (const end = clock.now() + goneMs; ; await clock.sleep(lookMs)) {
    await rm(root, { recursive: true, force: true }).catch(() => undefined);
    left = await look();
    if (left.length === 0 || clock.now() >= end) break;
  }
  if (left.length === 0) done.push(`removed ${root}`);
  if (credentialsFile !== undefined) {
    await rm(credentialsFile, { force: true });
    done.push(`removed ${credentialsFile}`);
  }
  return { done, left };
}

/** A busy service manager refuses to start anything; then it is asked again. @throws Error when it did not come to run */
async function startService(service: Awaited<ReturnType<typeof windowsService>>, clock: Clock): Promise<void> {
  let failure: unknown;
  for (const end = clock.now() + startMs; clock.now() < end; await clock.sleep(lookMs)) {
    const state = await service.state();
    if (state === 'running') return;
    if (state === 'stopped') failure = await service.start().catch((error: unknown) => error);
  }
  throw failure ?? new Error('the service does not come to run');
}

async function stopService(service: Awaited<ReturnType<typeof windowsService>>, clock: Clock): Promise<void> {
  await service.stop();
  const end = clock.now() + stopMs;
  while (!['stopped', 'absent'].includes(await service.state()) && clock.now() < end) await clock.sleep(lookMs);
}
