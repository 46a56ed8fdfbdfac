/** A runner with real sandboxes beside a small queue, and scripts made of a few lines of Python. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createConnectTransport } from '@connectrpc/connect-web';
import { Secret } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { captureLog, tempFolder, type TempFolder } from '@platform/kit/testing';
import { packScriptFolder } from '@platform/sandbox/archive';
import { uidFor } from '@platform/sandbox/probe';
import { watchCapabilities } from '../src/capabilities.ts';
import { connectQueue } from '../src/cloud/queue.ts';
import { openSession } from '../src/cloud/session.ts';
import { makeWorkspace } from '../src/make-workspace.ts';
import { readOptions } from '../src/options.ts';
import { runRunner } from '../src/run-runner.ts';
import type { Scripts } from '../src/script/open-scripts.ts';
import type { Trainers } from '../src/trainer/command.ts';
import { QueueServer, type QueuedJob } from './queue-server.ts';

export const setup = `from setuptools import setup, find_packages
setup(name="my-training", version="1", packages=find_packages(), install_requires=[])
`;
/** What a script of a user usually begins with. */
export const begin = `
import argparse, json, os, signal, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--dataset_file")
parser.add_argument("--model_output_directory")
args, rest = parser.parse_known_args()
out = args.model_output_directory
def say(*words): print(*words, flush=True)
`;
export const save = `
open(os.path.join(out, "model.onnx"), "w").write("a model")
`;

export interface Stage extends AsyncDisposable {
  readonly server: QueueServer;
  readonly folder: TempFolder;
  readonly root: string;
  readonly url: string;
  readonly scripts: Scripts;
  log(): string;
  /** A job whose module model.training is this. */
  submit(
    training: string,
    change?: Partial<QueuedJob['spec']>,
    files?: Readonly<Record<string, string | Buffer>>,
  ): Promise<QueuedJob>;
  submitArchive(archive: Buffer, change?: Partial<QueuedJob['spec']>): QueuedJob;
  /** Waits for its end. */
  ended(job: QueuedJob): Promise<QueuedJob>;
  /** Its lines, level first. */
  lines(job: QueuedJob): string[];
  /** Content of a file of the result. */
  file(job: QueuedJob, name: string): string | undefined;
  shutDown(): Promise<void>;
}

export async function stage(flags: readonly string[] = [], trainers: Trainers = {}): Promise<Stage> {
  const folder = await tempFolder();
  const root = folder.file('runner');
  await mkdir(root);
  const server = new QueueServer();
  const url = await server.start();
  const clock = systemClock;
  const { log, text } = captureLog(clock);
  const transport = createConnectTransport({ baseUrl: url, useBinaryFormat: true });
  const session = openSession(transport, { id: 'key-id', key: new Secret('key') }, clock);
  const python = ['--script-python', 'py:3.11=/usr/bin/python3'];
  const argv = ['--url', url, '--folder', root, '--grace-seconds', '2', ...python, ...flags];
  const given = readOptions(argv, { PLATFORM_RUNNER_TOKEN: 'key-id:key' });
  const stop = new AbortController();
  const capabilities = await watchCapabilities({ ...given, root, url, trainers, clock, log });
  const { scripts, offer } = await capabilities(stop.signal);
  if (!scripts) throw new Error(offer.noScriptsBecause);
  const queue = connectQueue(transport, session, 'runner-1', clock);
  const place = {
    root,
    sharedFolder: root,
    url,
    queue,
    session,
    trainers,
    capabilities,
    clock,
    log,
  };
  const running = runRunner(await makeWorkspace(given, place, stop.signal), {
    stop: stop.signal,
    drain: new AbortController().signal,
    jobs: given.jobs,
  });
  running.catch(() => {});
  const submitArchive: Stage['submitArchive'] = (archive, change = {}) =>
    server.submit({
      kind: 'custom',
      script: { registry_item_id: 'org:script', version: '1', package_sha256: server.store(archive) },
      limits: { wall_seconds: 60, memory_mib: 512, disk_mib: 32 },
      ...change,
    });
  const shutDown = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return {
    server,
    folder,
    root,
    url,
    scripts,
    log: text,
    submitArchive,
    submit: async (training, change = {}, files = {}) =>
      submitArchive(
        await packed({ 'setup.py': setup, 'model/__init__.py': '', 'model/training.py': begin + training, ...files }),
        change,
      ),
    ended: async (job) => {
      const isOver = (): boolean => !['pending', 'in_progress', 'canceling'].includes(job.state);
      await server.until(`the end of ${job.spec.id}; ${job.logs.map(({ message }) => message).join(' | ')}`, isOver);
      return job;
    },
    lines: (job) => job.logs.map(({ level, message }) => `${level} ${message}`),
    file: (job, name) => {
      const file = job.files.find((one) => one.path === name);
      return file && server.blobs.get(file.sha256)?.toString();
    },
    shutDown,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running.catch(() => {});
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The archive of a project with these files. */
export async function packed(files: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  await using folder = await tempFolder();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(folder.file(name)), { recursive: true });
    await writeFile(folder.file(name), content);
  }
  return await packScriptFolder(folder.path);
}
/** One that our own packer would refuse: made by tar, with what `spoil` adds to the folder and these flags. */
export async function spoiled(
  spoil: (folder: string) => Promise<unknown>,
  flags: readonly string[] = [],
): Promise<Buffer> {
  await using folder = await tempFolder();
  await mkdir(folder.file('a/model'), { recursive: true });
  await writeFile(folder.file('a/setup.py'), setup);
  await writeFile(folder.file('a/model/training.py'), begin + save);
  await spoil(folder.file('a'));
  execFileSync('tar', ['-C', folder.path, ...flags, '-czPf', folder.file('a.tar.gz'), 'a'], { stdio: 'pipe' });
  return await readFile(folder.file('a.tar.gz'));
}

/** Processes of the sandboxes of this runner, by their users, and its control groups. */
export async function leftovers({ scripts, server }: Stage): Promise<string[]> {
  const uids = new Set(
    server.jobs.map(({ spec, attempt }) => uidFor(scripts.sandboxes.host, `${scripts.prefix}-${spec.id}-${attempt}`)),
  );
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const uid = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]);
    const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const isOurs = uids.has(uid) || words.includes(scripts.cache);
    if (isOurs) found.push(`${pid} ${words.replaceAll('\0', ' ')}`);
  }
  return [...found, ...groupsOf(scripts.prefix)];
}

/** Control groups of the sandboxes of one runner, wherever they lie. */
export function groupsOf(prefix: string): string[] {
  const args = ['/sys/fs/cgroup', '-type', 'd', '-name', `platform-${prefix}-*`];
  return spawnSync('find', args, { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);
}
