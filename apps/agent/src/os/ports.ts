import type { ResourceReport } from '@platform/contract/resource-report';
import type { RestartStatus } from '@platform/contract/machine';
import type { Clock } from '@platform/kit';
import type { DroppedOutput } from './output-marks.ts';

/** Paths that these ports take are relative to the agent's root folder, with `/`. */

export interface ProcessId {
  pid: number;
  /** Opaque; with the pid it names one process for ever. */
  startTime: string;
}

export interface Command {
  /** Below the root. */
  program: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Both are appended to, and stay the child's own when we die. */
  stdoutFile: string;
  stderrFile: string;
}

/** Both null: it ended unseen (an adopted process has no parent that could tell). */
export interface Exit {
  code: number | null;
  signal: string | null;
  /** The kernel killed it because memory ran out; left out: not known. */
  isOutOfMemory?: boolean;
  /** Processes that it started and that went on when it ended with 0; they were ended. Left out: none. */
  leftBehind?: readonly Stranger[];
}

/**
 * How systemd saw a service end, as SERVICE_RESULT and EXIT_CODE of systemd.exec(5), and "stop-timeout": a timeout of its stop.
 * `status`: a number, or SIG…. Empty: not known.
 */
export interface UnitExit {
  result: string;
  code: string;
  status: string;
}

export interface RunningProcess {
  readonly id: ProcessId;
  readonly exited: Promise<Exit>;
  /** TERM and QUIT go to the process; KILL to it and everything it started. A process that is gone is no error. */
  signal(name: 'TERM' | 'QUIT' | 'KILL'): void;
}

export interface Stranger {
  pid: number;
  /** Its command line, or its name. */
  command: string;
}

export interface Processes {
  /** Starts a process that outlives this agent. @throws Error when it cannot be started. */
  start(command: Command): Promise<RunningProcess>;
  /** Takes over a process that an earlier agent started; undefined when it no longer lives. */
  adopt(id: ProcessId): RunningProcess | undefined;
  /** What earlier agents of this root started and what still lives. */
  find(): Promise<ProcessId[]>;
  /** How long ago a process started; undefined, or left out: the system does not report it. */
  ageMs?(id: ProcessId): number | undefined;
  /** How a process of an earlier agent ended; undefined: nobody knows. */
  ended(id: ProcessId): Promise<Exit | undefined>;
  /** Whether the file that this process was started from is another one by now; `program` is below the root. */
  isReplaced(id: ProcessId, program: string): Promise<boolean>;
  /** Processes of the same program that somebody else has started. They are none of our business, but can be in the way. */
  strangers(program: string): Promise<Stranger[]>;
  /** Who listens on this TCP port of the machine; undefined: nobody, or it cannot be seen. */
  listener(port: number): Promise<Stranger | undefined>;
}

/** What a program of the operating system wrote. */
export interface Said {
  /** -1: it could not be started, or took too long. */
  code: number;
  text: string;
}

/** Programs of the operating system, such as systemctl. */
export interface Programs {
  run(program: string, ...args: string[]): Promise<Said>;
}

/** What commands touch of the machine. */
export interface System extends Programs {
  /** Files below this folder. */
  files(folder: string): FileSystem;
  /** Files below this folder that other programs write line by line. */
  lines(folder: string): Lines;
}

/** What a path leads to; links are not followed. */
export interface FileEntry {
  kind: 'file' | 'folder' | 'link';
  sizeBytes: number;
  /** Another one whenever the file is another or was written to. */
  mark: string;
  /** Another one when the file was replaced by another of its name; the same when it was only written to. */
  file: string;
  /** Last write, ms since 1970. */
  changedWall: number;
}

export interface ReadableFile {
  readonly sizeBytes: number;
  /** Fewer bytes at the end of the file. */
  read(at: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

export interface WritableFile {
  write(bytes: Uint8Array): Promise<void>;
  /** What was written survives a power cut from now on; its name does only after `syncFolder`. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The disk in the single steps that a power cut can come between. Nothing is durable but what a sync made so. Errors
 * carry the `code` of the operating system (ENOENT, ENOSPC, EIO …).
 */
export interface FileSystem {
  /** One level; one that exists is no error. */
  mkdir(path: string): Promise<void>;
  /** Makes the file, or empties the one that is there (`append`: keeps it), with this mode. The folder must exist. */
  openWrite(path: string, how: { mode: number; append?: boolean }): Promise<WritableFile>;
  openRead(path: string): Promise<ReadableFile>;
  /** Makes the entries of a folder durable. */
  syncFolder(path: string): Promise<void>;
  /** In one step; what is at `to` is replaced. */
  rename(from: string, to: string): Promise<void>;
  symlink(target: string, path: string): Promise<void>;
  /** Undefined: there is no link. */
  readlink(path: string): Promise<string | undefined>;
  /** A file or a link; one that is gone is no error. */
  unlink(path: string): Promise<void>;
  /** An empty folder; one that is gone is no error. */
  rmdir(path: string): Promise<void>;
  /** Names, sorted; empty for a folder that does not exist. */
  readdir(path: string): Promise<string[]>;
  stat(path: string): Promise<FileEntry | undefined>;
  /** What may still be written. */
  freeBytes(): Promise<number>;
}

/** Small files of ours. */
export interface Disk {
  read(file: string): Promise<Uint8Array | undefined>;
  /** Old content or new, never a part; durable when it resolves. Folders are made. Readable by the owner only. */
  write(file: string, bytes: Uint8Array): Promise<void>;
  /** Durable when it resolves; a power cut before may leave any part of `bytes`. */
  append(file: string, bytes: Uint8Array): Promise<void>;
  /** File names, sorted; empty for a folder that does not exist. */
  list(folder: string): Promise<string[]>;
  remove(file: string): Promise<void>;
}

/** Where a reader of a growing file stands. A file that was replaced has another `file`. */
export interface Position {
  file: string;
  offset: number;
}

export interface FileWatch {
  /** Resolves when the file may have changed since the last time; now and then for no reason. Never rejects. */
  changed(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Files that another program writes, line by line. */
export interface Lines {
  /** Position of the end, before anything that is written from now on. */
  end(file: string): Promise<Position>;
  /**
   * Before somebody writes to the file: where its disk takes no lines, its name leads to one in memory, until there is room when this
   * is called again. Never fails: then nothing better is known than to try.
   */
  makeRoom(file: string): Promise<'disk' | 'memory'>;
  /**
   * Whole lines after `from` (all when undefined), at most about 64 KiB at once; invalid UTF-8 is replaced. `dropped`: lines that the
   * relay did not keep, among these.
   */
  read(
    file: string,
    from: Position | undefined,
  ): Promise<{ lines: string[]; position: Position; dropped?: readonly DroppedOutput[] }>;
  /** For a reader that waits for more. It may be made before the file is. */
  follow(file: string, clock: Clock): FileWatch;
  /**
   * Keeps the file below the limit: cuts it off when everything up to `read` was seen and it is larger. Of a file of the relay, the older
   * files before `read` go.
   */
  trim(file: string, read: Position, limitBytes: number): Promise<Position>;
  /**
   * Empties a file that outgrew its reader: only when more than the limit lies after `from`. Its last part is kept as
   * `<file>.1`. Answers with about how many lines were lost, undefined: none.
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
  /** Ends with an error when the connection does before the body. */
  body: AsyncIterable<Uint8Array>;
}

/** What is fetched from elsewhere: http, https and file URLs. */
export interface Web {
  /**
   * Follows nothing; leaving the body unread, or ending its iteration early, ends the connection.
   *
   * @throws Error when there is no answer.
   */
  ask(
    method: 'GET' | 'HEAD',
    url: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<WebAnswer>;
}

export interface Probe {
  /** GET <url>/restart_status; undefined: no (usable) answer in time. */
  restartStatus(url: string, signal: AbortSignal): Promise<RestartStatus | undefined>;
  /** GET <url>/resource_status; undefined: no (usable) answer in time. */
  resourceReport(url: string, signal: AbortSignal): Promise<ResourceReport | undefined>;
}

export interface Host {
  hostname: string;
  /** linux/amd64 … */
  platform: string;
  /** debian:12; empty: unknown. */
  distro: string;
  tags: readonly string[];
  /** Another one after each start of the machine; empty: not known. */
  bootId: string;
  isSupervisedBySystemd: boolean;
  /** A keeper starts the agent again when it ends. */
  isKept?: boolean;
}

/** All that the agent touches of the machine it runs on. */
export interface Device {
  processes: Processes;
  files: FileSystem;
  disk: Disk;
  lines: Lines;
  web: Web;
  probe: Probe;
  host: Host;
}
