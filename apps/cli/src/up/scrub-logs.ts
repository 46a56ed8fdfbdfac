import { createReadStream, existsSync, readdirSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** Format of the readiness output of earlier versions. */
const secretFields = /("(?:api_key|runner_key)":")[^"]+(")|(\/sign-in\?token=)[\w-]+/g;

/** Masks keys and sign-in links in a line. */
const scrubLine = (line: string): string =>
  line.replace(secretFields, (_, before?: string, after?: string, link?: string) =>
    link === undefined ? `${before}***${after}` : `${link}***`,
  );

/**
 * Removes keys and sign-in links that earlier versions wrote into the log files of a data folder. No process may write
 * to the files meanwhile.
 *
 * @returns the files that contained any.
 */
export async function scrubLogs(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return [];
  const found: string[] = [];
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.log'))) {
    const file = path.join(folder, name);
    if (await holdsSecrets(file)) {
      await scrubFile(file);
      found.push(file);
    }
  }
  return found;
}

const linesOf = (file: string) => createInterface({ input: createReadStream(file), crlfDelay: Infinity });

async function holdsSecrets(file: string): Promise<boolean> {
  for await (const line of linesOf(file)) if (scrubLine(line) !== line) return true;
  return false;
}

async function scrubFile(file: string): Promise<void> {
  const { mode } = await stat(file);
  const temporary = `${file}.scrubbed`;
  await rm(temporary, { force: true });
  {
    await using handle = await open(temporary, 'wx', mode);
    for await (const line of linesOf(file)) await handle.write(`${scrubLine(line)}\n`);
    await handle.sync();
  }
  await rename(temporary, file);
}

export const scrubbedText = (files: readonly string[]): string =>
  `An earlier version wrote keys into ${files.join(', ')}; they are removed now. Whoever could read that file may know them. To replace them, stop the platform and run: npm start -- --new-keys`;
