/** A machine that checks releases against a repository that a test can manipulate. */
import { rm } from 'node:fs/promises';
import { errorCodeOf } from '@platform/contract/errors/errors';
import { Cell, type Clock } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { captureLog, tempFolder } from '@platform/kit/testing';
import type { Target } from '@platform/releases/targets';
import { fileDisk } from '../src/os/file-disk.ts';
import { posixFileSystem } from '../src/os/posix/file-system.ts';
import type { Web } from '../src/os/ports.ts';
import type { Condition } from '../src/health/conditions.ts';
import { reportExpiredMetadata } from '../src/versions/trust/expired.ts';
import type { ReleaseTime } from '../src/versions/trust/release-time.ts';
import { releaseTrust } from '../src/versions/trust/trust.ts';
import { program, Repository } from './release-repository.ts';

export const none = new AbortController().signal;
export const start = Date.parse('2026-03-01T00:00:00Z');
export const hour = 3_600_000;
export const day = 24 * hour;

const web: Web = {
  async ask(method, url, headers, signal) {
    const { status, headers: got, body } = await fetch(url, { method, headers, signal, redirect: 'manual' });
    const chunks = body ?? new ReadableStream<Uint8Array>({ start: (end) => end.close() });
    return { status, headers: new Map(got), body: chunks };
  },
};

/** A machine with an empty disk, and a repository that lists one version. */
export async function world({ clock = systemClock }: { clock?: Clock } = {}) {
  const repository = new Repository({ now: start });
  const folder = await tempFolder();
  const disk = fileDisk(posixFileSystem(folder.path));
  repository.publish(program('1.0.0'));
  const server = await repository.serve();
  const { log, text } = captureLog(clock);
  const time: ReleaseTime = { now: start + hour, isTrusted: true, certain: 0 };
  const conditions = new Cell<readonly Condition[]>([]);
  const late = reportExpiredMetadata(conditions);
  const machine = (appAddress = server.url) =>
    releaseTrust({ disk, web, appAddress, time: () => time, late, clock, log });
  const check = async (target: Target, change: { platform?: string; sha256?: string; target?: string } = {}) => {
    const [name = '', version = '', place = ''] = target.path.split('/');
    const claim = {
      target: target.path,
      program: name,
      version,
      platform: place.replace('-', '/'),
      sha256: target.sha256,
    };
    return machine().check({ ...claim, ...change }, none);
  };
  return {
    repository,
    disk,
    folder,
    time,
    conditions,
    log: text,
    server,
    machine,
    check,
    /** Error code of the refusal, or whether the trusted hash matches. */
    async outcome(target: Target, change: Parameters<typeof check>[1] = {}): Promise<string> {
      try {
        return (await check(target, change)).sha256 === target.sha256 ? 'trusted' : 'trusted with other bytes';
      } catch (error) {
        return errorCodeOf(error) ?? String(error);
      }
    },
    async forget(): Promise<void> {
      for (const name of ['root', 'timestamp', 'snapshot', 'targets'])
        await rm(folder.file('state', 'tuf', `${name}.json`), { force: true });
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export type World = Awaited<ReturnType<typeof world>>;
