import { parseReadyLine, serverName } from '@platform/contract/machine';
import type { Clock, Log } from '@platform/kit';
import type { Device, Exit, FileWatch, Position, RunningProcess } from '../os/ports.ts';
import type { ServerStatus } from '../state.ts';
import { readRecord, type ServerRecord } from './server-record.ts';

export const stdoutFile = 'log/platform-server.stdout.log';
export const stderrFile = 'log/platform-server.stderr.log';

const statusLookMs = 10_000;
const tailBytes = 4096;
const tailLines = 5;

/** The url that the server told when it was ready; undefined when `signal` came first. */
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
      // Without a known beginning, lines of earlier processes are read, too.
      if (ready && (record.from !== undefined || ready.pid === record.pid)) return ready.url;
    }
    if (more.lines.length === 0) await watch.changed(signal);
  }
  return undefined;
}

/** Path of an installed version's program, below the root. */
export const programOf = (id: string): string => `versions/${id}/${serverName}`;

const closing = (watch: FileWatch): FileWatch & Disposable => ({ ...watch, [Symbol.dispose]: watch.close });

/** Asks a ready server again and again whether it may be restarted, and looks at its file. */
export async function watchStatus(
  { device, clock }: { device: Device; clock: Clock },
  record: ServerRecord,
  url: string,
  publish: (change: Partial<ServerStatus>) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const status = await device.probe.restartStatus(url, signal);
    const isReplaced = await device.processes.isReplaced(record, programOf(record.id)).catch(() => false);
    if (signal.aborted) return;
    publish({
      isRestartAllowed: status?.restartAllowed,
      hasMaintenance: status?.maintenance !== undefined,
      isReplacedOnDisk: isReplaced || status?.restartNeeded === true,
    });
    await clock.sleep(statusLookMs, signal);
  }
}

/** As people read it: "exit 3", "signal SIGKILL", "unknown". */
export const howItEnded = ({ code, signal }: Exit): string =>
  signal !== null ? `signal ${signal}` : code !== null ? `exit ${code}` : 'unknown';

/** Finds the server that an earlier agent left running, or tells how it has ended meanwhile. */
export async function adoptLeftover(
  {
    device,
    linked,
    log,
    credentialsMark,
  }: { device: Device; linked: () => Promise<string | null>; log: Log; credentialsMark: string },
  publish: (change: Partial<ServerStatus>) => void,
): Promise<{ process: RunningProcess; record: ServerRecord } | undefined> {
  const record = await readRecord(device.disk);
  const known = record && device.processes.adopt(record);
  if (record && known) {
    log.info('adopted the machine server of an earlier agent', { pid: record.pid, version: record.id });
    return { process: known, record };
  }
  const exit = record && (await device.processes.ended(record));
  if (record && exit) {
    const how = howItEnded(exit);
    const tail = await lastLines(device, stderrFile, undefined).catch(() => []);
    log.warn('the machine server ended while no agent ran', { how, pid: record.pid, lastLines: tail });
    publish({ lastExit: how, lastLines: tail });
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

/** The last lines that a log file got since `from`, for the report of an unexpected end. */
export async function lastLines(device: Device, file: string, from: Position | undefined): Promise<string[]> {
  const end = await device.lines.end(file);
  const begin = from?.file === end.file && from.offset <= end.offset ? from.offset : 0;
  const offset = Math.max(begin, end.offset - tailBytes);
  const { lines } = await device.lines.read(file, { ...end, offset });
  return lines.slice(offset > begin ? 1 : 0).slice(-tailLines);
}
