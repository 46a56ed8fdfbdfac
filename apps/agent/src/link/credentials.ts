import { lstat, mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError, type ErrorCode } from '@platform/contract/errors';
import { parseCredentials, type MachineCredentials } from '@platform/contract/machine';
import { parseSetUpText, setUpTextProblem } from '@platform/contract/set-up-code';
import { Cell, errorText, type Clock, type Log } from '@platform/kit';
import { atomicWrite } from '@platform/kit/node';
import { clearCondition, setCondition, type ConditionSet } from '../health/condition-set.ts';
import type { FileWatch } from '../os/ports.ts';
import { checksum } from '../storage/checksum.ts';
import type { SetUpCode } from './set-up-code.ts';

const limitBytes = 64 * 2 ** 10;
/** A program that writes the file in several steps needs less time. */
const settleMs = 2_000;

export interface FoundCredentials {
  credentials: MachineCredentials;
  /** The file that contains them, for the machine server. */
  file: string;
}

/** The answer to credentials that a user entered; `text` is for users. */
type TakenCredentials = { ok: true } | { ok: false; code: ErrorCode; text: string };

type Content = { ok: true; text: string; value: MachineCredentials } | { ok: false; problem: string; isThere: boolean };

interface CredentialsParts {
  file: string;
  /** Path of the copy of the last valid file. */
  copy: string;
  /** Set-up codes that a user enters in place of credentials; absent: not supported. */
  setUpCode?: SetUpCode;
  conditions: ConditionSet;
  clock: Clock;
  log: Log;
}

/** Equal for credentials with the same content. */
export const markOf = (credentials: MachineCredentials): string =>
  checksum(new TextEncoder().encode(JSON.stringify(credentials)));

/**
 * The credentials of this machine. A damaged file never replaces valid credentials: those of the copy or of the memory
 * stay in use. A removed file counts from the next start of the agent on, because an editor may replace it.
 */
export class Credentials {
  readonly #parts: CredentialsParts;
  readonly #found = new Cell<FoundCredentials | undefined>(undefined);
  readonly #noCode = new Cell<object | undefined>(undefined);
  readonly #has = new Cell(false);
  #isRefused = false;
  #logged = '';
  #work: Promise<unknown> = Promise.resolve();

  constructor(parts: CredentialsParts) {
    this.#parts = parts;
  }

  get file(): string {
    return this.#parts.file;
  }

  /** The credentials in use; undefined: there are none. Only this class sets it. */
  get found(): Cell<FoundCredentials | undefined> {
    return this.#found;
  }

  /**
   * This machine has credentials, and the management server has not refused them; or it has a set-up code for them. Only
   * this class sets it.
   */
  get hasCredentials(): Cell<boolean> {
    return this.#has;
  }

  /** The set-up code that is not redeemed yet; another object is another code. */
  get pendingCode(): Cell<object | undefined> {
    return this.#parts.setUpCode?.pending ?? this.#noCode;
  }

  /** Records whether the management server refused a call with the credentials in use. */
  refused(isRefused: boolean): void {
    this.#isRefused = isRefused;
    this.#update();
  }

  /** Reads the file, and the set-up code that a command kept. @returns whether other credentials are in use now */
  reload(signal?: AbortSignal): Promise<boolean> {
    return this.#oneAtATime(async () => {
      await this.#parts.setUpCode?.load();
      return this.#reload(signal);
    });
  }

  /** Reads the file at each change, until the signal. */
  async follow(watch: FileWatch, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.reload(signal);
      await watch.changed(signal);
    }
    watch.close();
  }

  /**
   * Takes the text of a credentials file that a user entered at this machine. Stores it before it is used. Valid
   * credentials are not replaced, because whoever is near the machine could take it over.
   */
  take(text: string): Promise<TakenCredentials> {
    return this.#oneAtATime(async () => {
      const { file, setUpCode } = this.#parts;
      const refusal = (error: PlatformError): TakenCredentials => ({
        ok: false,
        code: error.code,
        text: `${error.what} ${error.remedy}`,
      });
      const now = this.#found.get()?.credentials;
      const isInUse = now !== undefined && !this.#isRefused;
      const notStored = (error: unknown): TakenCredentials =>
        refusal(new PlatformError('CREDENTIALS_NOT_STORED', { file, problem: errorText(error) }, error));
      const entered = setUpCode && parseSetUpText(text);
      if (entered) {
        if (isInUse) return refusal(new PlatformError('OTHER_CREDENTIALS', { partId: now.partId }));
        return setUpCode.keep(entered).then((): TakenCredentials => ({ ok: true }), notStored);
      }
      const mistyped = setUpCode && setUpTextProblem(text);
      if (mistyped !== undefined) return refusal(new PlatformError('CREDENTIALS_REJECTED', { problem: mistyped }));
      const parsed = parseText(text);
      if (!parsed.ok) return refusal(new PlatformError('CREDENTIALS_REJECTED', { problem: parsed.problem }));
      const isSame = now !== undefined && markOf(now) === markOf(parsed.value);
      if (isSame && !this.#isRefused) return { ok: true };
      if (isSame) return refusal(new PlatformError('CLOUD_REFUSES_MACHINE', { address: now.appAddress }));
      if (isInUse) return refusal(new PlatformError('OTHER_CREDENTIALS', { partId: now.partId }));
      try {
        await storeCredentials(file, text);
      } catch (error) {
        return notStored(error);
      }
      await this.#reload();
      return { ok: true };
    });
  }

  /** Redeems the set-up code that a user entered, until the signal. */
  async redeem(signal: AbortSignal): Promise<void> {
    const { setUpCode } = this.#parts;
    if (!setUpCode) return;
    const take = async (text: string): Promise<string | undefined> => {
      const taken = await this.take(text);
      // Credentials that were copied meanwhile stay.
      return taken.ok || taken.code === 'OTHER_CREDENTIALS' ? undefined : taken.text;
    };
    const watching = (async () => {
      while (!signal.aborted) {
        this.#update();
        await setUpCode.pending.changed(signal);
      }
    })();
    await Promise.all([setUpCode.run(take, signal), watching]);
  }

  async #reload(signal?: AbortSignal): Promise<boolean> {
    const { file, copy, clock, log } = this.#parts;
    const before = this.#found.get();
    let content = await contentOf(file);
    if (!content.ok && before && !signal?.aborted) {
      await clock.sleep(settleMs, signal); // it may be half-written
      content = await contentOf(file);
    }
    if (signal?.aborted && !content.ok && before) return false;
    if (content.ok) {
      await keep(copy, content.text).catch((error: unknown) => log.warn('credentials are not copied', { copy, error }));
      this.#report(undefined, { file, problem: '' });
      return this.#use(content.value, file);
    }
    const { problem, isThere } = content;
    if (!isThere && before) {
      this.#report('CREDENTIALS_REMOVED', { file, problem });
      return false;
    }
    // Without credentials in use, a missing file was removed on purpose.
    const last = isThere ? await contentOf(copy) : undefined;
    if (last?.ok && (!before || markOf(before.credentials) === markOf(last.value))) {
      this.#report('CREDENTIALS_DAMAGED', { file, problem });
      return this.#use(last.value, copy);
    }
    this.#report(before ? 'CREDENTIALS_DAMAGED' : 'CREDENTIALS_MISSING', { file, problem });
    return false;
  }

  #use(credentials: MachineCredentials, file: string): boolean {
    const before = this.#found.get();
    const isOther = before === undefined || markOf(before.credentials) !== markOf(credentials);
    if (isOther) this.#isRefused = false;
    if (isOther || before.file !== file) this.#found.set({ credentials, file });
    this.#update();
    return isOther;
  }

  #update(): void {
    const isInUse = this.#found.get() !== undefined && !this.#isRefused;
    this.#has.set(isInUse || this.#parts.setUpCode?.pending.get() !== undefined);
  }

  #report(
    code: 'CREDENTIALS_MISSING' | 'CREDENTIALS_DAMAGED' | 'CREDENTIALS_REMOVED' | undefined,
    of: { file: string; problem: string },
  ): void {
    const { conditions, clock, log } = this.#parts;
    for (const other of ['CREDENTIALS_MISSING', 'CREDENTIALS_DAMAGED', 'CREDENTIALS_REMOVED'])
      if (other !== code) clearCondition(conditions, other);
    const logged = code === undefined ? '' : `${code} ${of.problem}`;
    const isNew = logged !== this.#logged;
    this.#logged = logged;
    if (code === undefined || !isNew) return;
    const { what, remedy } = new PlatformError(code, of);
    const severity = code === 'CREDENTIALS_REMOVED' ? 'warning' : 'error';
    setCondition(conditions, { code, severity, message: what, remedy, sinceWall: clock.wall() });
    log.error(logTexts[code], { ...of, remedy });
  }

  /** Two readers at once could use an older content after a newer one. */
  #oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#work.then(work);
    this.#work = result.catch(() => {});
    return result;
  }
}

const logTexts = {
  CREDENTIALS_MISSING: 'this machine has no usable credentials; waiting for them',
  CREDENTIALS_DAMAGED: 'the credentials file cannot be used; the last valid credentials are used',
  CREDENTIALS_REMOVED: 'the credentials file was removed; its credentials are used until the agent is restarted',
} as const;

/** Replaces the credentials file, for its owner only. The file before stays beside it as `.old`. */
export async function storeCredentials(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const old = await readFile(file).catch(() => undefined);
  if (old) await atomicWrite(`${file}.old`, old, { mode: 0o600 });
  await atomicWrite(file, text, { mode: 0o600 });
}

function parseText(text: string): Content {
  if (text.trim() === '') return { ok: false, problem: 'it is empty', isThere: true };
  if (Buffer.byteLength(text) > limitBytes)
    return { ok: false, problem: `it is larger than ${limitBytes} bytes`, isThere: true };
  const parsed = parseCredentials(text);
  return parsed.ok ? { ok: true, text, value: parsed.value } : { ok: false, problem: parsed.problem, isThere: true };
}

async function contentOf(file: string): Promise<Content> {
  try {
    const found = await stat(file);
    if (!found.isFile()) return { ok: false, problem: 'it is not a file', isThere: true };
    if (found.size > limitBytes) return { ok: false, problem: `it is larger than ${limitBytes} bytes`, isThere: true };
    return parseText(await readFile(file, 'utf8'));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return { ok: false, problem: 'there is no such file', isThere: false };
    return { ok: false, problem: errorText(error), isThere: true };
  }
}

async function keep(copy: string, text: string): Promise<void> {
  const before = await lstat(copy).catch(() => undefined);
  if (before?.isFile() && (await readFile(copy, 'utf8')) === text) return;
  await atomicWrite(path.resolve(copy), text, { mode: 0o600 });
}
