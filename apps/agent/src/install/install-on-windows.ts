import type { Programs, System } from '../os/ports.ts';
import { copyFile, lstat, mkdir, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { errorText, type Clock, type Log } from '@platform/kit';
import { atomicWrite, Usage } from '@platform/kit/node';
import { supervisorPath, serviceName } from './windows-places.ts';
import { WindowsError, type WindowsService } from '../os/windows-ports.ts';
import type { Candidate } from './facts.ts';
import { ours } from './remove.ts';
import { placeSelf } from './place-self.ts';

const restartMs = 5_000;
const lookMs = 500;
const stopMs = 240_000;
const startMs = 60_000;
const goneMs = 15_000;
/**
 * Transient errors. The service manager is not available during boot; a removed service stays while another process has
 * it open.
 */
const passing = new Map([
  [1722, 'the service manager is not there yet'],
  [1753, 'the service manager is not there yet'],
  [1115, 'the machine shuts down'],
  [1055, 'the service database is locked'],
  [1072, 'the service is being removed'],
]);

/** The Windows-only calls that these commands use. */
export interface WindowsCalls {
  /** A service of the service manager. */
  windowsService: (name: string) => Promise<WindowsService>;
  /** Removes a file, which may be a running program, at the next boot of Windows. @throws WindowsError */
  removeAtBoot: (file: string) => Promise<void>;
  /** Removes the registry key that identifies this boot. */
  forgetBootId: () => Promise<void>;
}

export interface WindowsParts {
  windows: Pick<WindowsCalls, 'windowsService'>;
  root: string;
  credentialsFile: string;
  /** Undefined: the existing file stays. */
  credentials: string | undefined;
  candidate: Candidate;
  isStarted: boolean;
  system: System;
  clock: Clock;
  log: Log;
  report: (text: string) => void;
}

/** Installs the files and the service, and restarts it if `isStarted`. It is safe to repeat. */
export async function installOnWindows(parts: WindowsParts): Promise<void> {
  const { root, credentialsFile, credentials, candidate, system, clock, log, report } = parts;
  const service = patient(await parts.windows.windowsService(serviceName), clock);
  const before = await service.state();
  await mkdir(root, { recursive: true });
  await closeToOthers(root, before === 'absent', system);
  if (credentials !== undefined) {
    await mkdir(path.dirname(credentialsFile), { recursive: true });
    await atomicWrite(credentialsFile, credentials, { mode: 0o600 });
    report(`wrote ${credentialsFile}`);
  }
  if (await isThere(credentialsFile)) await closeToOthers(credentialsFile, true, system);
  const id = await placeSelf(candidate, {
    source: system.files(path.dirname(candidate.file)),
    files: system.files(root),
    clock,
    log,
  });
  report(`stored and chose version ${id}`);
  const supervisorFile = path.join(root, supervisorPath);
  if (!(await isThere(supervisorFile))) {
    await copyFile(candidate.file, `${supervisorFile}.tmp`);
    await rename(`${supervisorFile}.tmp`, supervisorFile);
  }
  await service.install({
    displayName: 'Platform agent',
    description: 'Keeps the machine server of this machine installed, running and up to date.',
    commandLine: `"${supervisorFile}" service --root "${root}" --config "${credentialsFile}"`,
    restartMs,
  });
  await registerEventSource(system);
  report(before === 'absent' ? `made the service ${serviceName}` : `the service ${serviceName} is there`);
  if (!parts.isStarted) return;
  await stopService(service, clock);
  await startService(service, clock);
  report(`started the service ${serviceName}`);
}

/** Every Windows has this program with messages 1 to 1000 that consist of their text only. */
const messages = String.raw`%SystemRoot%\System32\EventCreate.exe`;
const sourceKey = [String.raw`HKLM\SYSTEM\CurrentControlSet\Services\EventLog\Application`, serviceName].join('\\');

const registryTool = (system: Programs, ...words: string[]) =>
  system.run(path.join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'reg.exe'), ...words);

/** So that the event viewer shows the texts of the entries. @throws Usage if Windows refuses */
async function registerEventSource(system: Programs): Promise<void> {
  for (const [name, type, value] of [
    ['EventMessageFile', 'REG_EXPAND_SZ', messages],
    ['TypesSupported', 'REG_DWORD', '7'],
  ] as const) {
    const { code, text } = await registryTool(system, 'add', sourceKey, '/v', name, '/t', type, '/d', value, '/f');
    if (code !== 0) throw new Usage(`the source of the event log cannot be registered: ${text}`, 2);
  }
}

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

/**
 * Limits a file or folder to the system and administrators: by default, every user can create files below ProgramData
 * and read those of others. If `isNew`, administrators also become owners of what it contains.
 *
 * @throws Usage if Windows refuses
 */
async function closeToOthers(target: string, isNew: boolean, system: Programs): Promise<void> {
  const isFolder = (await stat(target)).isDirectory();
  const inherit = isFolder ? '(OI)(CI)' : '';
  const icacls = path.join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'icacls.exe');
  const administrators = '*S-1-5-32-544';
  const owner = [target, '/setowner', administrators, ...(isFolder ? ['/T'] : []), '/C', '/Q'];
  const grant = [target, '/inheritance:r', '/grant:r', `*S-1-5-18:${inherit}F`, `${administrators}:${inherit}F`, '/Q'];
  const below = [path.join(target, '*'), '/reset', '/T', '/C', '/Q'];
  for (const words of isNew ? [owner, grant, ...(isFolder ? [below] : [])] : [grant]) {
    const { code, text } = await system.run(icacls, ...words);
    // The folder may be empty.
    if (code !== 0 && words !== below) throw new Usage(`${target} cannot be closed to other users: ${text}`, 2);
  }
}

export interface Uninstalled {
  done: string[];
  left: string[];
  /** The management server has received the removal. */
  isServerNotified: boolean;
}

export async function uninstallOnWindows(
  of: { root: string; credentialsFile: string | undefined; sayGoodbye: () => Promise<boolean> },
  { windows, system, clock }: { windows: WindowsCalls; system: Programs; clock: Clock },
): Promise<Uninstalled> {
  const { root, credentialsFile } = of;
  const result: Uninstalled = { done: [], left: [], isServerNotified: false };
  const service = patient(await windows.windowsService(serviceName), clock);
  if ((await service.state()) !== 'absent') {
    await stopService(service, clock);
    await service.remove();
    result.done.push(`removed the service ${serviceName}`);
  }
  await registryTool(system, 'delete', sourceKey, '/f'); // fails if it is gone already
  await windows.forgetBootId();
  result.isServerNotified = await of.sayGoodbye();
  if (result.isServerNotified) result.done.push('notified the management server');
  await removeRoot(root, result, { windows, clock });
  if (credentialsFile !== undefined) {
    await rm(credentialsFile, { force: true });
    result.done.push(`removed ${credentialsFile}`);
  }
  return result;
}

/** Removes the agent's files and then the folder. Windows removes what is still in use at its next boot. */
async function removeRoot(
  root: string,
  { done, left }: Uninstalled,
  { windows, clock }: { windows: Pick<WindowsCalls, 'removeAtBoot'>; clock: Clock },
): Promise<void> {
  if (!(await isThere(path.join(root, 'versions')))) return; // not an agent's folder
  const targets = ours.map((name) => path.join(root, name));
  // Windows locks the file of a program for a moment after its exit.
  let held = new Map<string, string>();
  for (const end = clock.now() + goneMs; ; await clock.sleep(lookMs)) {
    held = await removeTrees(targets);
    if (held.size === 0 || clock.now() >= end) break;
  }
  const rest = (await readdir(root).catch(() => [])).filter((name) => !ours.includes(name));
  if (held.size === 0 && rest.length === 0) await rmdir(root).catch(() => undefined);
  else for (const entry of [...held.keys(), root]) await windows.removeAtBoot(entry).catch(() => undefined);
  for (const [entry, problem] of held) left.push(`${entry} goes at the next start of Windows: ${problem}`);
  if (rest.length > 0) left.push(`${root} holds what is none of platform-agent: ${rest.slice(0, 5).join(', ')}`);
  done.push(`removed ${root}`);
}

/** Returns what remains and why, contents before their folders. (The runtime's `rm` reports no failures in Wine.) */
async function removeTrees(targets: readonly string[]): Promise<Map<string, string>> {
  const held = new Map<string, string>();
  for (const target of targets) {
    const entry = await lstat(target).catch(() => undefined);
    if (!entry) continue;
    const isFolder = entry.isDirectory(); // false for a link to a folder
    if (isFolder) {
      const names = await readdir(target).catch(() => []);
      for (const each of await removeTrees(names.map((name) => path.join(target, name)))) held.set(...each);
    }
    const problem = await (isFolder ? rmdir(target) : unlink(target)).then(() => '', errorText);
    if (await lstat(target).catch(() => undefined)) held.set(target, problem || 'it is in use');
  }
  return held;
}

/** Retries transient errors. */
function patient(service: WindowsService, clock: Clock): WindowsService {
  const patiently = async <T>(work: () => Promise<T>): Promise<T> => {
    for (const end = clock.now() + startMs; ; await clock.sleep(lookMs)) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof WindowsError) || !passing.has(error.number) || clock.now() >= end) throw error;
      }
    }
  };
  return {
    state: () => patiently(() => service.state()),
    install: (of) => patiently(() => service.install(of)),
    start: () => patiently(() => service.start()),
    stop: () => patiently(() => service.stop()),
    remove: () => patiently(() => service.remove()),
  };
}

/** Retries the start: a busy service manager rejects it. @throws Error if the service does not run in time */
async function startService(service: WindowsService, clock: Clock): Promise<void> {
  let failure: unknown;
  for (const end = clock.now() + startMs; clock.now() < end; await clock.sleep(lookMs)) {
    const state = await service.state();
    if (state === 'running') return;
    if (state === 'stopped') failure = await service.start().catch((error: unknown) => error);
  }
  throw failure ?? new Error('the service does not come to run');
}

async function stopService(service: WindowsService, clock: Clock): Promise<void> {
  await service.stop();
  const end = clock.now() + stopMs;
  while (!['stopped', 'absent'].includes(await service.state()) && clock.now() < end) await clock.sleep(lookMs);
}
