import { readFile, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { createClient } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { parseCredentials } from '@platform/contract/machine-server/machine-server';
import { Cell, errorText, sourceWall, within, type Clock, type Log } from '@platform/kit';
import { readText, unusableText, useProxiesOf } from '@platform/kit/node';
import { AgentSilent, controlOf } from '../control/client.ts';
import { findCredentials } from '../install/fetch-credentials.ts';
import { freeBytesOf } from '../install/look.ts';
import { proxiesIn } from '../install/proxies.ts';
import type { FileSystem, System } from '../os/ports.ts';
import { readFileSystem } from '../os/mounts.ts';
import { chunksOf } from '../os/file-disk.ts';
import { peerValidity } from '../os/peer-certificate.ts';
import { isRefused } from '../link/cloud.ts';
import { connectTransport } from '../link/transport.ts';
import { linkProblemIn } from '../link/link.ts';
import { tolerantFetch, trustedBy } from '../link/tolerant-fetch.ts';
import { agentUnit, unitEnvironmentFile } from '../install/unit.ts';
import { gateText } from '../versions/gate.ts';
import { Inspector } from '../versions/inspect.ts';
import { nameOf, gatePath, programPath, type Program } from '../versions/layout.ts';
import { linkedId, textOf } from '../versions/switch.ts';
import type { CloudObservations, Observations, SystemdObservations } from './observations.ts';

const answerMs = 15_000;

/** Inspects everything and changes nothing. */
export async function observe(
  of: { root: string; credentialsFile: string; env: Readonly<Record<string, string | undefined>> },
  { system, clock }: { system: System; clock: Clock; log: Log },
): Promise<Observations> {
  const { root, credentialsFile, env } = of;
  const at = (...names: string[]) => path.join(root, ...names);
  const files = system.files(root);
  const credentials = await findCredentials(credentialsFile).catch(() => ({ at: 'closed' }) as const);
  const mode = (await stat(credentialsFile).catch(() => undefined))?.mode;
  const unitProxies = proxiesIn(await readText(at(unitEnvironmentFile)).catch(() => ''));
  for (const [name, value] of Object.entries(unitProxies)) process.env[name] ??= value; // connect as the agent does
  useProxiesOf(process.env);
  const proxies = { ...unitProxies, ...env };
  const unusable = useProxiesOf(proxies);
  return {
    root,
    isRoot: process.getuid?.() === 0,
    credentialsFile,
    credentials: credentials.at === 'closed' && mode === undefined ? { at: 'none' } : credentials,
    credentialsMode: mode,
    systemd: await systemdObservations(system),
    gate: await gateObservations(at(gatePath), system),
    programs: [await programObservations(files, 'agent'), await programObservations(files, 'server')],
    freeBytes: await freeBytesOf(root),
    fileSystem: await readFileSystem(root),
    spoolBytes: await bytesIn(at('spool')),
    ...(await agentObservations(root, clock)),
    cloud: await cloudObservations(credentials.at === 'usable' ? credentials.text : '', proxies, { system, clock }),
    unusableProxies: unusable.map(unusableText),
  };
}

const agentObservations = (root: string, clock: Clock): Promise<Pick<Observations, 'status' | 'isSilent'>> =>
  controlOf(root, clock)
    .status()
    .then(
      (status) => ({ status, isSilent: false }),
      (error: unknown) => ({ status: undefined, isSilent: error instanceof AgentSilent }),
    );

async function systemdObservations(system: System): Promise<SystemdObservations | undefined> {
  const isRunning = await stat('/run/systemd/system').catch(() => undefined);
  if (!isRunning) return undefined;
  const names = ['LoadState', 'ActiveState', 'UnitFileState', 'NeedDaemonReload', 'Result', 'NRestarts'];
  const { text } = await system.run('systemctl', 'show', `--property=${names.join(',')}`, agentUnit);
  const values = new Map(text.split('\n').map((line) => line.split(/=(.*)/s, 2) as [string, string]));
  return {
    isUnitThere: values.get('LoadState') === 'loaded',
    activeState: values.get('ActiveState') ?? '',
    isEnabled: values.get('UnitFileState') === 'enabled',
    needsReload: values.get('NeedDaemonReload') === 'yes',
    result: values.get('Result') ?? '',
    restarts: Number(values.get('NRestarts') ?? 0),
  };
}

async function gateObservations(file: string, system: System): Promise<Observations['gate']> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return { isThere: false, isCurrent: false, problem: '' };
  const read = await system.run('/bin/sh', '-n', file);
  return { isThere: true, isCurrent: text === gateText, problem: read.code === 0 ? '' : read.text };
}

/** Reads the whole program in use: only this detects a failing disk. */
async function programObservations(files: FileSystem, program: Program): Promise<Observations['programs'][number]> {
  const name = nameOf(program);
  const id = (await linkedId(files, program).catch(() => undefined)) ?? null;
  if (id === null) return { name, id, problem: '' };
  try {
    const inspector = new Inspector();
    for await (const chunk of chunksOf(files, programPath(program, id))) inspector.update(chunk);
    const isWhole = inspector.finish().sha256 === (await textOf(files, `versions/${id}/sha256`)).trim();
    return { name, id, problem: isWhole ? '' : `The file of version ${id} is damaged.` };
  } catch (error) {
    return { name, id, problem: `The file of version ${id} cannot be read: ${errorText(error)}.` };
  }
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(folder).catch(() => [])) {
    bytes += (await stat(path.join(folder, name)).catch(() => undefined))?.size ?? 0;
  }
  return bytes;
}

/** Authenticates as the machine would. */
async function cloudObservations(
  credentialsText: string,
  env: Readonly<Record<string, string | undefined>>,
  { system, clock }: { system: System; clock: Clock },
): Promise<CloudObservations | undefined> {
  const parsed = parseCredentials(credentialsText);
  if (!parsed.ok) return undefined;
  const { appAddress: address, entity, type, payload } = parsed.value;
  const heard = new Cell<{ date: number; at: number } | undefined>(undefined);
  const began = clock.now();
  const onDate = (date: number): void => heard.set({ date, at: clock.wall() });
  const validityOf = (url: string) => peerValidity(url, clock);
  // As the agent does, but nothing is stored.
  const proven = { floor: () => sourceWall, prove: () => {} };
  const send = tolerantFetch({ clock, system, proven, trusted: trustedBy(parsed.value) });
  const auth = createClient(AuthService, connectTransport(address, { clock, onDate, validityOf, fetch: send }));
  const problem = await within(answerMs, { what: 'the answer', clock }, (signal) =>
    auth.authenticate({ entity, credentials: { type, payload } }, { signal }),
  ).then(
    () => undefined,
    (error: unknown) => problemOf(error, address),
  );
  const seen = heard.get();
  return {
    address,
    proxy: proxyFor(address, env),
    problem,
    tookMs: clock.now() - began,
    aheadMs: seen ? seen.at - seen.date : undefined,
  };
}

function problemOf(error: unknown, address: string): NonNullable<CloudObservations['problem']> {
  const failure =
    linkProblemIn(error) ??
    (isRefused(error)
      ? new PlatformError('INVALID_CREDENTIALS')
      : new PlatformError('OFFLINE', { url: address, problem: errorText(error) }));
  return { code: failure.code, what: failure.what, remedy: failure.remedy };
}

function proxyFor(address: string, env: Readonly<Record<string, string | undefined>>): string {
  const { protocol } = new URL(address);
  const name = protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const value = env[name] ?? env[name.toUpperCase()] ?? '';
  return value.replace(/\/\/[^/@]*@/, '//***@');
}
