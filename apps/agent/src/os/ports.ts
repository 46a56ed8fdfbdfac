import type { Abilities } from '@platform/contract/config/effect';
import type { ResourceReport } from '@platform/contract/machine-server/resource-report';
import type { RestartStatus } from '@platform/contract/machine-server/machine-server';
import type { Clock } from '@platform/kit';
import type { DroppedOutput } from './output-marks.ts';

/** Paths of these ports are relative to the agent's root folder and use `/`. */

export interface ProcessId {
  pid: number;
  /** Opaque; together with the pid it identifies one process uniquely. */
  startTime: string;
}

export interface Command {
  /** Relative to the root. */
  program: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** The child appends to both and keeps them open when the agent dies. */
  stdoutFile: string;
  stderrFile: string;
}

/** Both null: the exit status is unknown (an adopted process has no parent to report it). */
export interface Exit {
  code: number | null;
  signal: string | null;
  /** The kernel's OOM killer killed it; undefined: unknown. */
  isOutOfMemory?: boolean;
  /** Children that were still running when it exited with 0 and were then killed. Undefined: none. */
  leftBehind?: readonly ProcessInfo[];
}

/**
 * How a service ended according to systemd: SERVICE_RESULT and EXIT_CODE of systemd.exec(5), plus "stop-timeout" for a
 * stop that timed out. `status` is a number or SIG…. Empty: unknown.
 */
export interface UnitExit {
  result: string;
  code: string;
  status: string;
}

export interface RunningProcess {
  readonly id: ProcessId;
  readonly exited: Promise<Exit>;
  /**
   * TERM and QUIT go to the process, KILL to it and everything that it started. A process that has exited is ignored.
   * Windows has no signals: TERM and QUIT are a console control event.
   */
  signal(name: 'TERM' | 'QUIT' | 'KILL'): void;
}

export interface ProcessInfo {
  pid: number;
  /** Its command line, or its name. */
  command: string;
}

export interface Processes {
  /** Starts a process that outlives this agent. @throws Error if it cannot be started. */
  start(command: Command): Promise<RunningProcess>;
  /** Adopts a process that an earlier agent started; undefined: it has exited. */
  adopt(id: ProcessId): RunningProcess | undefined;
  /** Processes that earlier agents of this root started and that still run. */
  find(): Promise<ProcessId[]>;
  /** Time since a process started; undefined: the system does not report it. */
  ageMs?(id: ProcessId): number | undefined;
  /** How a process of an earlier agent ended; undefined: unknown. */
  ended(id: ProcessId): Promise<Exit | undefined>;
  /** Whether the file has been replaced since the process was started from it; `program` is relative to the root. */
  isReplaced(id: ProcessId, program: string): Promise<boolean>;
  /** Foreign processes of the same program. The agent never stops them, but they can block its own. */
  foreignProcesses(program: string): Promise<ProcessInfo[]>;
  /** The process that listens on this TCP port; undefined: none, or it is not visible. */
  listener(port: number): Promise<ProcessInfo | undefined>;
}

/** Output of a program of the operating system. */
export interface ProgramResult {
  /** -1: it could not be started, or timed out. */
  code: number;
  text: string;
}

/** Programs of the operating system, such as systemctl. */
export interface Programs {
  run(program: string, ...args: string[]): Promise<ProgramResult>;
}

/** What commands use of the machine. */
export interface System extends Programs {
  /** Files below this folder. */
  files(folder: string): FileSystem;
  /** Log files below this folder that other programs write. */
  lines(folder: string): Lines;
}

/** Metadata of a path; links are not followed. */
export interface FileEntry {
  kind: 'file' | 'folder' | 'link';
  sizeBytes: number;
  /** Changes when the file is replaced or written to. */
  mark: string;
  /** Changes when another file replaces this one under the same name, but not when it is written to. */
  file: string;
  /** Last write, ms since 1970. */
  changedWall: number;
}

export interface ReadableFile {
  readonly sizeBytes: number;
  /** Returns fewer bytes at the end of the file. */
  read(at: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

export interface WritableFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Makes the content durable; the name becomes durable only with `syncFolder`. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The disk in the single steps between which the power can fail. Only synced data is durable. Errors carry the `code`
 * of the operating system (ENOENT, ENOSPC, EIO …).
 */
export interface FileSystem {
  /** Creates one level; an existing folder is accepted. */
  mkdir(path: string): Promise<void>;
  /** Creates or truncates the file (`append`: keeps its content), with this mode. The folder must exist. */
  openWrite(path: string, how: { mode: number; append?: boolean }): Promise<WritableFile>;
  openRead(path: string): Promise<ReadableFile>;
  /** Makes the entries of a folder durable. */
  syncFolder(path: string): Promise<void>;
  /** Atomic; replaces an existing `to`. */
  rename(from: string, to: string): Promise<void>;
  symlink(target: string, path: string): Promise<void>;
  /** Undefined: there is no link. */
  readlink(path: string): Promise<string | undefined>;
  /** Removes a file or a link; ignores a missing one. */
  unlink(path: string): Promise<void>;
  /** Removes an empty folder; ignores a missing one. */
  rmdir(path: string): Promise<void>;
  /** Names, sorted; empty if the folder does not exist. */
  readdir(path: string): Promise<string[]>;
  stat(path: string): Promise<FileEntry | undefined>;
  /** Space that this process may still use. */
  freeBytes(): Promise<number>;
  /** Absent or undefined: their number is not limited. */
  inodes?(): Promise<Inodes | undefined>;
}

export interface Inodes {
  total: number;
  free: number;
}

/** Small files of the agent. */
export interface Disk {
  read(file: string): Promise<Uint8Array | undefined>;
  /**
   * Atomic replace: old content or new; durable when it resolves. Creates folders. Only the owner can read the file.
   */
  write(file: string, bytes: Uint8Array): Promise<void>;
  /** Durable when it resolves; a power cut before that may leave any part of `bytes`. */
  append(file: string, bytes: Uint8Array): Promise<void>;
  /** File names, sorted; empty if the folder does not exist. */
  list(folder: string): Promise<string[]>;
  remove(file: string): Promise<void>;
}

/** A reader's position in a growing file. A replaced file has another `file`. */
export interface Position {
  file: string;
  offset: number;
}

/** The result of one read. */
export interface OutputRead {
  lines: string[];
  /** After these lines. */
  position: Position;
  /** Lines among these that the relay could not keep. */
  dropped?: readonly DroppedOutput[];
}

export interface FileWatch {
  /** Resolves when the file may have changed since the last call, sometimes without a change. Never rejects. */
  changed(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Files that another program writes line by line. */
export interface Lines {
  /** Position of the end: lines that are written from now on follow it. */
  end(file: string): Promise<Position>;
  /**
   * Call it before the file is written. If the disk is full, the name becomes a link to a file in memory. A later call
   * that finds room removes the link. Never fails: if this is not possible either, the file stays on disk.
   */
  makeRoom(file: string): Promise<'disk' | 'memory'>;
  /**
   * Returns whole lines after `from` (all if undefined), at most about 64 KiB; replaces invalid UTF-8.
   */
  read(file: string, from: Position | undefined): Promise<OutputRead>;
  /** Watches the file for a reader that waits for more lines. The file need not exist yet. */
  follow(file: string, clock: Clock): FileWatch;
  /**
   * Limits the file's size: truncates it if it is over the limit and `read` is at its end. A file of the relay is never
   * truncated: older files before `read` are marked as read and the oldest are removed.
   */
  trim(file: string, read: Position, limitBytes: number): Promise<Position>;
  /**
   * Empties a file that outgrew its reader, only if more than the limit is unread after `from`. Keeps its last part as
   * `<file>.1`. Returns about how many lines were dropped; undefined: none.
   */
  empty(
    file: string,
    from: Position | undefined,
    limitBytes: number,
  ): Promise<{ position: Position; lines: number } | undefined>;
}

export interface WebAnswer {
  status: number;
  /** Lower-case names. */
  headers: ReadonlyMap<string, string>;
  /** Throws if the connection closes before the body is complete. */
  body: AsyncIterable<Uint8Array>;
}

/** Downloads by http, https and file URLs. */
export interface Web {
  /**
   * Follows no redirects. Leaving the body unread, or ending its iteration early, closes the connection.
   *
   * @throws Error without an answer.
   */
  ask(
    method: 'GET' | 'HEAD',
    url: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<WebAnswer>;
}

export interface Probe {
  /** GET <url>/restart_status; undefined: no valid answer in time. */
  restartStatus(url: string, signal: AbortSignal): Promise<RestartStatus | undefined>;
  /** GET <url>/resource_status; undefined: no valid answer in time. */
  resourceReport(url: string, signal: AbortSignal): Promise<ResourceReport | undefined>;
}

export interface Host {
  /** The name that the machine has now. */
  hostname: () => string;
  /** linux/amd64 … */
  platform: string;
  /** debian:12, as it is now; empty: unknown. */
  distro: () => string;
  tags: readonly string[];
  /** Changes at each boot; empty: unknown. */
  bootId: string;
  /** Time zone that the machine is set to now; left out: UTC. */
  timeZone?: () => string;
  isSupervisedBySystemd: boolean;
  /** A supervisor other than systemd restarts the agent when it exits. */
  isKept?: boolean;
  /** What this agent may change; an agent that a user tries out changes nothing. */
  abilities: Abilities;
}

/** The file system of the agent's folder. */
export interface FileSystemFacts {
  /** Empty: unknown. */
  mountPoint: string;
  /** No program can be started from it. */
  isNoExec: boolean;
  /** A boot loses what is written to it. Absent: unknown. */
  isVolatile?: boolean;
  freeBytes: number;
  /** Absent: their number is not limited. */
  inodes?: Inodes;
}

/** The disk of the agent's folder. */
export interface DiskFacts {
  /** Absent: unknown. */
  mountPoint?: string;
  /** Absent: their number is not limited. */
  inodes?: number;
  freeInodes?: number;
  sizeBytes: number;
  freeBytes: number;
  /** Used share of the life of the flash memory. */
  wearPercent?: number;
}

/** The hardware and the operating system of this machine. What it does not report is left out. */
/** What reset a machine, as its kernel or hardware recorded it. */
export type ResetCause = 'watchdog' | 'kernel-panic';

/** How the boot before this one ended. `power-lost`: without a record, so it may also have been a reset. */
export type BootReason = 'ordered' | 'power-lost' | ResetCause;

export interface HostFacts {
  model?: string;
  serial?: string;
  architecture?: string;
  distribution?: string;
  kernel?: string;
  memoryBytes?: number;
  disk?: DiskFacts;
  temperatureCelsius?: number;
  uptimeSeconds?: number;
  bootReason?: BootReason;
  /** Name of the IANA time zone database. */
  timeZone?: string;
}

/** What a machine uses. What it does not report is left out. */
export interface UsageReading {
  /** Time of all processors since some time before, in any unit. */
  processor?: { busy: number; total: number } | undefined;
  memory?: { usedBytes: number; sizeBytes: number } | undefined;
  /** The file system of the agent's folder. */
  disk?: { usedBytes: number; sizeBytes: number } | undefined;
  /** The hottest sensor. */
  temperatureCelsius?: number | undefined;
  /** Since some time before. */
  network?: { receivedBytes: number; sentBytes: number } | undefined;
}

/** Everything that the agent uses of its machine. */
/** Makes the control channel for the administrators of this machine. Returns what removes it. */
export type OpenControl = (listen: (address: string) => Promise<void>) => Promise<() => Promise<void>>;

export interface Device {
  processes: Processes;
  files: FileSystem;
  disk: Disk;
  lines: Lines;
  web: Web;
  probe: Probe;
  host: Host;
  /** Left out: this platform does not report them. */
  hostFacts?: () => Promise<HostFacts>;
  /** Left out: this platform does not report it. */
  fileSystem?: () => Promise<FileSystemFacts | undefined>;
  /** Left out: this platform does not report it. */
  usage?: () => Promise<UsageReading>;
  /** What reset this machine before this boot; `since`: ms since 1970, in the boot before. Left out: not known here. */
  resetCause?: (since: number) => Promise<ResetCause | undefined>;
  /** Left out: a Unix socket below the root. */
  openControl?: OpenControl;
  /**
   * Identity of this agent process, on a platform where the machine server ends with its agent. Left out: it outlives
   * the agent, and only a boot ends both.
   */
  runId?: string;
}
