import { parseReadyLine, serverName, type RestartStatus } from '@platform/contract/machine-server/machine-server';
import { changedOr, type Cell, type Clock, type Log } from '@platform/kit';
import type { Device, FileWatch, Position, Probe, RunningProcess } from '../os/ports.ts';
import { exitReason, reportedLines } from '../state/exit-reason.ts';
import {
  contentOf,
  isSameConfig,
  noContent,
  type ConfigContent,
  type ServerConfig,
  type ServerStatus,
  type Wanted,
} from '../state/state.ts';
import { readRecord, type ServerRecord } from './record.ts';

export const stdoutFile = 'log/platform-server.stdout.log';
export const stderrFile = 'log/platform-server.stderr.log';

const statusLookMs = 10_000;
/** Used while the server is behind the desired configuration, because a user may wait for it. */
const behindLookMs = 1_000;
const mostBehindLooks = 60;
/** A busy server misses questions; after this time its last answer says nothing of now. */
export const answerValidMs = 60_000;
const tailBytes = 8192;
const tailLines = 20;

/** The URL in the ready line of the server; undefined: `signal` came first. */
export async function awaitReady(
  { device, clock }: { device: Device; clock: Clock },
  record: ServerRecord,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (record.url !== undefined) return record.url;
  let position = record.from;
  using watch = closing(device.lines.follow(stdoutFile, clock));
  while (!signal.aborted) {
    const more = await device.lines.read(stdoutFile, position);
    position = more.position;
    for (const line of more.lines) {
      const ready = parseReadyLine(line);
      // Without a known start, the file also contains lines of earlier processes.
      if (ready && (record.from !== undefined || ready.pid === record.pid)) return ready.url;
    }
    if (more.lines.length === 0) await watch.changed(signal);
  }
  return undefined;
}

/** Path of an installed version's program, below the root. */
export const programOf = (id: string): string => `versions/${id}/${serverName}`;

const closing = (watch: FileWatch): FileWatch & Disposable => ({ ...watch, [Symbol.dispose]: watch.close });

/** Polls the status of a ready server, and checks whether its file was replaced. */
export async function watchStatus(
  { device, clock, wanted, log }: { device: Device; clock: Clock; wanted: Cell<Wanted>; log: Log },
  record: ServerRecord,
  url: string,
  publish: (change: Partial<ServerStatus>) => void,
  signal: AbortSignal,
): Promise<void> {
  let config: ServerConfig | undefined;
  let behind = { ...noContent, looks: 0 };
  let silentSinceWall: number | undefined;
  let answered: number | undefined;
  while (!signal.aborted) {
    const began = clock.now();
    const status = await device.probe.restartStatus(url, signal);
    if (status) answered = clock.now();
    const isExpired = answered !== undefined && clock.now() - answered >= answerValidMs;
    config = isExpired ? undefined : await configOf(device.probe, url, status, config, signal);
    const isReplaced = await device.processes.isReplaced(record, programOf(record.id)).catch(() => false);
    if (signal.aborted) return;
    silentSinceWall = status ? undefined : (silentSinceWall ?? clock.wall());
    publish({
      isRestartAllowed: status?.restartAllowed,
      hasMaintenance: status?.maintenance !== undefined,
      maintenanceDenial: status?.maintenance?.allowed === false ? status.maintenance.reading : '',
      silentSinceWall,
      config,
      isReplacedOnDisk: isReplaced || status?.restartNeeded === true,
    });
    const desired = wanted.get();
    log.debug('pass', {
      by: 'server-status',
      observed: {
        isAnswered: status !== undefined,
        isRestartAllowed: status?.restartAllowed,
        revision: config?.revision,
        isChanging: config?.isChanging,
        isReplaced,
      },
      ms: Math.round(clock.now() - began),
    });
    const isBehind = config !== undefined && isStillChanging(config, desired);
    if (!isBehind || !isSameConfig(behind, desired)) behind = { ...contentOf(desired), looks: 0 };
    const isHurried = isBehind && behind.looks++ < mostBehindLooks;
    await changedOr(wanted, isHurried ? behindLookMs : statusLookMs, clock, signal);
  }
}

const isStillChanging = (config: ServerConfig, wanted: ConfigContent): boolean =>
  config.revision !== undefined &&
  ((config.configSha256 === '' ? config.revision !== wanted.revision : config.configSha256 !== wanted.configSha256) ||
    config.isChanging ||
    config.report?.resources.some(({ state }) => state === 'waiting') === true);

/** The configuration status of the server; `before` itself if nothing changed. */
async function configOf(
  probe: Probe,
  url: string,
  status: RestartStatus | undefined,
  before: ServerConfig | undefined,
  signal: AbortSignal,
): Promise<ServerConfig> {
  if (!status)
    return before ?? { revision: undefined, configSha256: '', isChanging: false, etag: '', report: undefined };
  const etag = status.resourceStatusEtag ?? '';
  const report =
    etag === ''
      ? undefined
      : etag === before?.etag && before.report
        ? before.report
        : await probe.resourceReport(url, signal);
  const { revision, configSha256 = '' } = status;
  const next = { revision, configSha256, isChanging: status.reconfiguring === true, etag, report };
  const isSame =
    before?.revision === revision &&
    before?.configSha256 === configSha256 &&
    before?.isChanging === next.isChanging &&
    before?.etag === etag &&
    before?.report === report;
  return before && isSame ? before : next;
}

/** Adopts the server that an earlier agent left running, or reports how it ended meanwhile. */
export async function adoptLeftover(
  of: {
    device: Device;
    linked: () => Promise<string | null>;
    log: Log;
    credentialsMark: string;
    mask: (text: string) => string;
    exited: (id: string, how: { reason: string; lines: readonly string[] }) => Promise<void>;
  },
  publish: (change: Partial<ServerStatus>) => void,
): Promise<{ process: RunningProcess; record: ServerRecord } | undefined> {
  const { device, linked, log, credentialsMark, mask, exited } = of;
  const record = await readRecord(device.disk);
  const known = record && device.processes.adopt(record);
  if (record && known) {
    log.info('adopted the machine server of an earlier agent', { pid: record.pid, version: record.id });
    return { process: known, record };
  }
  const exit = record && (await device.processes.ended(record));
  if (record && exit) {
    const how = exitReason(exit);
    const tail = reportedLines(await lastLines(device, undefined, record.from), mask);
    log.warn('the machine server ended while no agent ran', { how, pid: record.pid, lastLines: tail });
    publish({ lastExit: how });
    await exited(record.id, { reason: how, lines: tail });
  }
  for (const id of await device.processes.find()) {
    const process = device.processes.adopt(id);
    if (!process) continue;
    const version = await linked();
    log.warn('adopted a machine server without a record of it', { pid: id.pid, version });
    return { process, record: { ...id, id: version ?? 'unknown', from: undefined, credentials: credentialsMark } };
  }
  return undefined;
}

/**
 * The last lines that the server wrote, for its exit report. They come from stderr after `errorsFrom`, or from stdout
 * after `from` if stderr has none. Never fails.
 */
export async function lastLines(
  device: Device,
  errorsFrom: Position | undefined,
  from: Position | undefined,
): Promise<string[]> {
  const errors = await tailOf(device, stderrFile, errorsFrom).catch(() => []);
  return errors.length > 0 || from === undefined ? errors : tailOf(device, stdoutFile, from).catch(() => []);
}

async function tailOf(device: Device, file: string, from: Position | undefined): Promise<string[]> {
  const end = await device.lines.end(file);
  const begin = from?.file === end.file && from.offset <= end.offset ? from.offset : 0;
  const offset = Math.max(begin, end.offset - tailBytes);
  const { lines } = await device.lines.read(file, { ...end, offset });
  return lines.slice(offset > begin ? 1 : 0).slice(-tailLines);
}
