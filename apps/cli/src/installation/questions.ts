// What a first installation asks at a terminal. A wrong answer is explained and asked again: nothing is installed yet.
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { PlatformError } from '@platform/contract/errors/errors';
import { Ended, exitCodes } from '../exit-codes.ts';
import { readPair } from './certificate.ts';
import { checkBackupFolder } from './scheduled-backups.ts';
import type { SettingFlags } from './settings.ts';

export interface Terminal {
  /** Undefined: the user ended the input (Ctrl-D). */
  ask(question: string): Promise<string | undefined>;
  say(text: string): void;
}

/** What the answers are checked with. */
export interface Checks {
  certificate(files: { certificate: string; key: string }): unknown;
  backupFolder(folder: string): void;
}
const realChecks: Checks = { certificate: readPair, backupFolder: checkBackupFolder };

/** Asks for what no flag says. @throws Ended if the user ends the input. */
export async function askSettings(
  flags: SettingFlags,
  terminal: Terminal,
  checks: Checks = realChecks,
): Promise<SettingFlags> {
  const ask = async (question: string): Promise<string> => {
    const answer = await terminal.ask(question);
    if (answer === undefined) throw new Ended(exitCodes.stopped, 'Stopped. Nothing was installed.');
    return answer.trim();
  };
  const pair = await again(terminal, async () => {
    const tlsCert = await ask('Certificate (PEM file with its chain; empty: this host alone, without TLS): ');
    if (tlsCert === '') return {};
    const tlsKey = flags.tlsKey ?? (await ask('Its private key (PEM file): '));
    checks.certificate({ certificate: tlsCert, key: tlsKey });
    return { tlsCert, tlsKey };
  });
  const publicUrl =
    pair.tlsCert === undefined || flags.publicUrl !== undefined
      ? flags.publicUrl
      : await again(terminal, async () => {
          const url = await ask('URL for users and machines (empty: the name in the certificate): ');
          return url === '' ? undefined : requireUrl('URL', url);
        });
  const backupDir =
    flags.backupDir ??
    (await again(terminal, async () => {
      const folder = await ask('Folder for daily backups, best on another disk (empty: none): ');
      if (folder === '') return undefined;
      if (!path.isAbsolute(folder)) {
        const limit = 'an absolute path such as /var/backups/platform';
        throw new PlatformError('INVALID_ARGUMENT', { field: 'folder', value: folder, limit });
      }
      checks.backupFolder(folder);
      return folder;
    }));
  return {
    ...flags,
    ...pair,
    ...(publicUrl !== undefined && { publicUrl }),
    ...(backupDir !== undefined && { backupDir }),
  };
}

/** Repeats a question until its answer is accepted. */
async function again<T>(terminal: Terminal, question: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await question();
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      terminal.say(`${error.what} ${error.remedy}`);
    }
}

/** @throws PlatformError INVALID_ARGUMENT */
export function requireUrl(field: string, text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  const limit = 'a URL such as https://platform.example.com';
  throw new PlatformError('INVALID_ARGUMENT', { field, value: text, limit });
}

/** The terminal of this process; undefined: there is none. */
export function openTerminal(): (Terminal & Disposable) | undefined {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  // It keeps lines that were typed or pasted ahead of their question.
  const lines = reader[Symbol.asyncIterator]();
  // Ctrl-C ends the command as it does elsewhere.
  reader.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  return {
    async ask(question) {
      reader.setPrompt(question);
      reader.prompt();
      const { value, done } = await lines.next();
      return done ? undefined : value;
    },
    say: (text) => void process.stderr.write(`${text}\n`),
    [Symbol.dispose]: () => reader.close(),
  };
}
