import { createHash } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText } from '@platform/kit';
import { chunksOf, makeFolder } from '../os/file-disk.ts';
import { customVersion, shownUrl } from '../state/version-names.ts';
import { Inspector, refusalOf } from './inspect.ts';
import { nameOf, partFolder, programPath } from './layout.ts';
import type { FetchTask, Fetched, Patches, Progress } from './fetch-ports.ts';
import type { Trust } from './trust/trust.ts';
import { checkSpace, largestBytes, receive, type Received, type ReceiveParts } from './receive.ts';
import type { ProgramStore } from './program-store.ts';

export interface FetchParts extends ReceiveParts {
  store: ProgramStore;
  /** Undefined: any file that the management server names is used. */
  trust: Trust | undefined;
  /** Undefined: files are always downloaded whole. */
  patches: Patches | undefined;
}

/** Share of the whole file; a larger patch saves too little. */
const worthwhile = 0.6;

/** Downloads a release by patch or whole, verifies and stages it. */
export async function fetchRelease(
  task: FetchTask,
  parts: FetchParts,
  tell: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Fetched> {
  const { files, store } = parts;
  const { url, version, program, target } = task;
  const { sha256, sizeBytes } = await expected(task, parts, signal);
  await makeFolder(files, partFolder);
  const key = createHash('sha256')
    .update(sha256 || url)
    .digest('hex')
    .slice(0, 16);
  const names = { whole: `${program}-${key}.part`, patch: `${program}-${key}.patch`, made: `${program}-${key}.made` };
  await forgetOthers(task, key, parts);
  const byPatch = await patched(task, { sha256, sizeBytes }, names, parts, tell, signal);
  const got =
    byPatch ?? (await receive({ url, sha256, sizeBytes, part: names.whole, what: whatOf(task) }, parts, tell, signal));
  const { found, path, stamp } = got;
  // A URL names no version, but the build note may.
  const named = version === customVersion && found.note ? `${customVersion}+${found.note.version}` : version;
  const about = { version: named, sha256: found.sha256, sizeBytes: found.sizeBytes, url, target };
  const refusal = refusalOf(found, program, task.platform);
  const answer = { sha256: found.sha256, sizeBytes: found.sizeBytes, isByDelta: byPatch !== undefined, stamp, refusal };
  if (refusal !== undefined) {
    await files.unlink(path);
    return { ...answer, id: store.idOf(about) };
  }
  return { ...answer, id: await store.stage(path, about) };
}

const whatOf = ({ program, version, url }: FetchTask): string =>
  `${nameOf(program)} ${version === customVersion ? shownUrl(url) : version}`;

/** The required hash and size: as signed, or as the management server names them if no signature is needed. */
async function expected(
  task: FetchTask,
  { trust }: FetchParts,
  signal: AbortSignal,
): Promise<{ sha256: string; sizeBytes: number }> {
  const { target, version, platform, sha256, sizeBytes } = task;
  if (!trust || task.isUnsigned) return { sha256, sizeBytes };
  const program = nameOf(task.program);
  if (target === '') throw new PlatformError('RELEASE_UNSIGNED', { name: program, version, platform });
  const signed = await trust.check({ target, program, version, platform, sha256 }, signal);
  if (sha256 !== '' && signed.sha256 !== sha256) {
    throw new PlatformError('DOWNLOAD_CORRUPT', { url: target, wantSha256: signed.sha256, gotSha256: sha256 });
  }
  return { sha256: signed.sha256, sizeBytes: signed.sizeBytes };
}

/** Builds the file from a stored version and a patch; undefined: impossible or failed. */
async function patched(
  task: FetchTask,
  { sha256, sizeBytes }: { sha256: string; sizeBytes: number },
  names: { patch: string; made: string },
  parts: FetchParts,
  tell: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Received | undefined> {
  const { files, patches, store, trust, log } = parts;
  if (!patches || sha256 === '' || task.deltas.length === 0) return undefined;
  const what = whatOf(task);
  const here = new Map((await store.list()).map(({ id, about }) => [about?.sha256, id]));
  for (const delta of task.deltas.toSorted((a, b) => a.sizeBytes - b.sizeBytes)) {
    const base = here.get(delta.fromSha256);
    if (base === undefined || (sizeBytes > 0 && delta.sizeBytes > worthwhile * sizeBytes)) continue;
    try {
      const signed =
        trust && !task.isUnsigned
          ? await trust.patch({ fromSha256: delta.fromSha256, toSha256: sha256, sha256: delta.sha256 }, signal)
          : delta;
      const patch = await receive(
        { url: delta.url, sha256: signed.sha256, sizeBytes: signed.sizeBytes, part: names.patch, what },
        parts,
        tell,
        signal,
      );
      const path = `${partFolder}/${names.made}`;
      await checkSpace(files, sizeBytes, { path, what });
      const inspector = new Inspector();
      const file = await files.openWrite(path, { mode: 0o600 });
      try {
        const source = { source: programPath(task.program, base), patch: chunksOf(files, patch.path) };
        await patches.apply({ ...source, limitBytes: sizeBytes || largestBytes }, async (bytes) => {
          signal.throwIfAborted();
          inspector.update(bytes);
          await file.write(bytes);
        });
        await file.sync();
      } finally {
        await file.close();
      }
      const found = inspector.finish();
      await files.unlink(patch.path);
      if (found.sha256 === sha256) return { path, found, stamp: '' };
      log.warn('a patch does not lead to its file; fetching it whole', { from: base, gotSha256: found.sha256 });
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn('a patch could not be used; fetching the whole file', { from: base, problem: errorText(error) });
    }
    await files.unlink(`${partFolder}/${names.made}`).catch(() => {});
    return undefined;
  }
  return undefined;
}

/** Removes unfinished downloads of this program that are not desired any more. */
async function forgetOthers({ program }: FetchTask, key: string, { files }: FetchParts): Promise<void> {
  for (const name of await files.readdir(partFolder)) {
    if (name.startsWith(`${program}-`) && !name.startsWith(`${program}-${key}.`)) {
      await files.unlink(`${partFolder}/${name}`);
    }
  }
}
