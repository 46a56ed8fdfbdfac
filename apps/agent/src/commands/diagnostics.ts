import path from 'node:path';
import { createLog, errorText, formatBytes } from '@platform/kit';
import { atomicWrite, stderrSink } from '@platform/kit/node';
import { strToU8, zipSync } from 'fflate';
import { collect } from '../diagnostics/collect.ts';
import { system } from '../composition/system.ts';
import { thisHost } from '../os/host.ts';
import type { Io } from './command.ts';
import { Ended, endedByMachine, exitCodes } from './exit-codes.ts';
import type { OptionValues } from '@platform/kit/node';
import type { diagnosticsOptions } from './option-tables.ts';

type Given = OptionValues<typeof diagnosticsOptions>;

const isNoFolder = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Zip timestamps start in 1980. */
const firstOfZip = Date.UTC(1980, 0, 2);

export async function diagnostics(given: Given, io: Io): Promise<number> {
  const { clock, env } = io;
  const log = createLog({ name: 'diagnostics', clock, level: 'error', sink: stderrSink('text') });
  const time = new Date(clock.wall()).toISOString().replace(/[-:]/g, '').slice(0, 15);
  const name = `platform-agent-${thisHost()
    .hostname()
    .replace(/[^A-Za-z0-9-]/g, '-')}-${time}`;
  const file = path.resolve(given.output ?? `${name}.zip`);
  const texts = await collect({
    root: path.resolve(given.root),
    credentialsFile: path.resolve(given.config),
    defaultsFile: path.resolve(given.defaults),
    env,
    system,
    clock,
    log,
  });
  const entries = [...texts].map(([entry, text]) => [`${name}/${entry}`, strToU8(text)] as const);
  const zip = zipSync(Object.fromEntries(entries), { level: 6, mtime: Math.max(clock.wall(), firstOfZip) });
  await atomicWrite(file, zip, { mode: 0o600 }).catch((error: unknown) => {
    throw (
      endedByMachine(error) ??
      new Ended(exitCodes.failed, {
        code: 'NOT_WRITTEN',
        what: `${file} cannot be written: ${isNoFolder(error) ? 'the folder does not exist' : errorText(error)}.`,
        remedy: 'Choose a file in an existing folder with --output.',
      })
    );
  });
  const text = `Wrote ${file} (${formatBytes(zip.length)}, ${texts.size} files). Secrets are redacted. Review the file before you share it.`;
  io.out(given.json ? JSON.stringify({ file, size_bytes: zip.length, files: [...texts.keys()] }) : text);
  return exitCodes.done;
}
