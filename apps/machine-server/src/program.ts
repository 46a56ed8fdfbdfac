import {
  machineEnvironment,
  machineExit,
  publicReadyLine,
  readyLine,
  serverName,
  versionLine,
} from '@platform/contract/machine-server/machine-server';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { createLog, errorText, within } from '@platform/kit';
import type { LogLine } from '@platform/kit';
import {
  FolderLocked,
  formatLine,
  lockFolder,
  onSignals,
  spareLock,
  systemClock as clock,
  Usage,
} from '@platform/kit/node';
import type { FolderLock } from '@platform/kit/node';
import { mkdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createCloudLink } from './cloud/link.ts';
import type { CloudLink } from './cloud/link.ts';
import { flushToAgent, handOverLogs } from './cloud/log-handover.ts';
import { serverFetch } from './cloud/server-fetch.ts';
import { flushLogs, LogQueue, uploadLogs } from './cloud/log-upload.ts';
import { readCommandLine, readCredentials, Refusal } from './command-line.ts';
import type { CommandLine } from './command-line.ts';
import { serveHttp } from './http/server.ts';
import { openMachine } from './machine.ts';
import { watchProgramFile } from './program-file.ts';
import { createJpegCodec } from './images/jpeg-codec.ts';
import type { JpegWasm } from './images/jpeg-codec.ts';
import { createModelEngine } from './resources/model-engine.ts';
import { version } from './version.ts';

/** The differences between a run from source and the released single file. */
export interface Build {
  readonly wasm: JpegWasm & {
    /** Content of onnxruntime's WebAssembly file. */
    readonly onnxruntime: () => Promise<Uint8Array>;
  };
  /** The file whose replacement requires a restart; undefined when run from source. */
  readonly programFile?: string;
}

const flushMs = 2000;

/** Runs the program; resolves with its exit code, after a signal or a fatal error. */
export async function main(build: Build): Promise<number> {
  try {
    const commandLine = readCommandLine(process.argv.slice(2), process.env);
    if (commandLine.version) process.stdout.write(`${versionLine({ version, binaryName: serverName })}\n`);
    else await serve(commandLine, build);
    return machineExit.stopped;
  } catch (error) {
    const isHelp = error instanceof Usage && error.exitCode === 0;
    (isHelp ? process.stdout : process.stderr).write(`${errorText(error)}\n`);
    if (error instanceof Usage) return error.exitCode;
    return error instanceof Refusal ? error.exitCode : machineExit.failed;
  }
}

async function serve({ config, dataFolder, pollMs, debug }: CommandLine, build: Build): Promise<void> {
  const signalled = onSignals();
  const credentials = await readCredentials(config);
  await using _lock = await takeDataFolder(dataFolder);

  // On a full disk, lines are lost, but the program continues.
  process.stdout.on('error', () => {});
  const queue = new LogQueue();
  const sink = (line: LogLine) => {
    // stdout stays on the machine; the queue feeds the management server.
    process.stdout.write(`${formatLine(line, 'text')}\n`);
    queue.push(line);
  };
  const log = createLog({ name: serverName, clock, level: debug ? 'debug' : 'info', sink });
  log.info('starting', { version, pid: process.pid, app: credentials.appAddress, data: dataFolder });

  const { partId } = credentials;
  const link = createCloudLink(credentials, serverFetch(process.env, credentials));
  const engine = createModelEngine(build.wasm.onnxruntime);
  const jpeg = createJpegCodec(build.wasm);
  const programFile = build.programFile === undefined ? undefined : await watchProgramFile(build.programFile);
  const machine = await openMachine({ link, partId, dataFolder, pollMs, engine, jpeg, queue, programFile, clock, log });
  const http = await serveHttp(machine.routes);
  const ready = readyLine({ version, url: http.url, pid: process.pid, ...machine.inEffect() });
  process.stdout.write(`${ready}\n${publicReadyLine(http.url)}\n`);

  const socketFile = process.env[machineEnvironment.logSocket] || undefined;
  const { sendLogs, flush } = logSender({ queue, link, partId, socketFile });
  const failed = new AbortController(); // a failed loop ends all others
  const signal = AbortSignal.any([signalled, failed.signal]);
  const loops = [machine.run(signal), sendLogs(signal)];
  try {
    await Promise.all(loops);
  } catch (error) {
    log.error('failed', { error });
    throw error;
  } finally {
    failed.abort();
    await Promise.allSettled(loops);
    await http.close();
    log.info('stopped');
    const limit = { what: 'sending the last log lines', clock };
    await within(flushMs, limit, flush).catch(() => {}); // stdout contains the lines, too
  }
}

interface LogParts {
  readonly queue: LogQueue;
  readonly link: CloudLink;
  readonly partId: string;
  /** The agent's socket for log lines, if an agent started this program. */
  readonly socketFile: string | undefined;
}

/** Sends log lines to the agent, or to the management server if there is no agent that accepts them. */
function logSender({ queue, link, partId, socketFile }: LogParts) {
  const logging = {
    robot: link.client(RobotService),
    partId,
    host: os.hostname(),
    bootId: crypto.randomUUID(),
    queue,
    clock,
    random: Math.random,
  };
  const handover = socketFile === undefined ? undefined : { ...logging, socketFile, logged: { dropped: 0 } };
  const way = { isAgent: handover !== undefined };
  return {
    sendLogs: async (signal: AbortSignal): Promise<void> => {
      if (handover && (await handOverLogs(handover, signal))) return;
      way.isAgent = false;
      await uploadLogs(logging, signal);
    },
    flush: (until: AbortSignal): Promise<void> =>
      handover && way.isAgent ? flushToAgent(handover, until) : flushLogs(logging, until),
  };
}

/** @throws Refusal when the folder is not writable or another server uses it. */
async function takeDataFolder(folder: string): Promise<FolderLock> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return await lockFolder(path.join(folder, 'lock'), { spare: await spareLock(path.resolve(folder), serverName) });
  } catch (error) {
    if (error instanceof FolderLocked) {
      const what = `The data folder ${folder} is in use by process ${error.pid}.`;
      throw new Refusal(`${what} Stop that process, or choose another folder with -data.`, machineExit.dataFolderInUse);
    }
    const what = `The data folder ${folder} can't be written: ${errorText(error)}.`;
    throw new Refusal(`${what} Choose another folder with -data.`, machineExit.noDataFolder);
  }
}
