import { conditionOf } from '@platform/contract/conditions/conditions';
import { lstat, mkdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError, type ErrorCode } from '@platform/contract/errors/errors';
import { parseCredentials, type MachineCredentials } from '@platform/contract/machine-server/machine-server';
import { parseSetUpText, readSetUpCode, setUpTextProblem } from '@platform/contract/provisioning/set-up-code';
import { Cell, errorText, oneAtATime } from '@platform/kit';
import { atomicWrite, readText } from '@platform/kit/node';
import { clearCondition, setCondition } from '../health/condition-set.ts';
import type { FileWatch } from '../os/ports.ts';
import { checksum } from '../storage/checksum.ts';
import type { SetUpCode } from './set-up-code.ts';
import type { Context } from '../health/context.ts';

const limitBytes = 64 * 2 ** 10;
/** From a failed record that the credentials work to the next try. */
const recordAgainMs = 60_000;
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

interface CredentialsParts extends Pick<Context, 'conditions' | 'clock' | 'log'> {
  file: string;
  /** Path of the copy of the last valid file. */
  copy: string;
  /** Set-up codes that a user enters in place of credentials; absent: not supported. */
  setUpCode?: SetUpCode;
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
  /** The credentials in use; undefined: there are none. Only this class sets it. */
  readonly found = new Cell<FoundCredentials | undefined>(undefined);
  /**
   * This machine has credentials, and the management server has not refused them; or it has a set-up code for them. Only
   * this class sets it.
   */
  readonly hasCredentials = new Cell(false);
  /** The credentials in use, if the management server never accepted them. Only this class sets it. */
  readonly unproven = new Cell<FoundCredentials | undefined>(undefined);
  readonly #noCode = new Cell<object | undefined>(undefined);
  /** Mark of the credentials that the management server accepted last; undefined: none yet, or not read yet. */
  #proven: string | undefined;
  /** When the record of that is tried again after a failure; monotonic ms. */
  #recordAgainAt = Infinity;
  #isRefused = false;
  #isUseless = false;
  #logged = '';
  /** Two readers at once could use an older content after a newer one. */
  readonly #oneAtATime = oneAtATime();

  constructor(parts: CredentialsParts) {
    this.#parts = parts;
  }

  get file(): string {
    return this.#parts.file;
  }

  /** Whether the unproven credentials are given up: others may be entered in their place. */
  giveUp(isUseless: boolean): void {
    this.#isUseless = isUseless;
  }

  /** The set-up code that a user entered and that is not redeemed yet; another object is another code. */
  get pendingCode(): Cell<object | undefined> {
    return this.#parts.setUpCode?.entered ?? this.#noCode;
  }

  /** Records whether the management server refused a call with the credentials in use, or accepted one. */
  refused(isRefused: boolean): void {
    this.#isRefused = isRefused;
    if (!isRefused && (this.unproven.get() || this.#parts.clock.now() >= this.#recordAgainAt)) this.#prove();
    this.#update();
  }

  /** Base URL of the server of that code; undefined: there is none. */
  get pendingServer(): string | undefined {
    return this.#parts.setUpCode?.pending.get()?.server;
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
   *
   * @param replaces - a part whose valid credentials are replaced, too: its management server wants it.
   */
  take(text: string, replaces?: string): Promise<TakenCredentials> {
    return this.#oneAtATime(async () => {
      const { file, setUpCode } = this.#parts;
      const refusal = (error: PlatformError): TakenCredentials => ({
        ok: false,
        code: error.code,
        text: `${error.what} ${error.remedy}`,
      });
      const now = this.found.get()?.credentials;
      const isReplaced = this.#isRefused || this.#isUseless || now?.partId === replaces;
      const isInUse = now !== undefined && !isReplaced;
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
      if (isSame && (!this.#isRefused || replaces !== undefined)) return { ok: true };
      if (isSame) return refusal(new PlatformError('CLOUD_REFUSES_MACHINE', { address: now.appAddress }));
      if (isInUse) return refusal(new PlatformError('OTHER_CREDENTIALS', { partId: now.partId }));
      try {
        if (replaces === undefined) await storeCredentials(file, text);
        else await replaceCredentials(file, text);
      } catch (error) {
        return notStored(error);
      }
      await this.#reload();
      return { ok: true };
    });
  }

  /** Takes a set-up code that the management server sent, because another computer has the same credentials. */
  split(code: string): Promise<void> {
    return this.#oneAtATime(async () => {
      const { setUpCode, log } = this.#parts;
      const now = this.found.get()?.credentials;
      const letters = readSetUpCode(code);
      if (!now || !setUpCode || letters === undefined) return;
      const { appAddress, partId, authority } = now;
      const sent = { code: letters, server: new URL(appAddress).origin, replaces: partId };
      await setUpCode
        .keepSent({ ...sent, ...(authority !== undefined && { pem: authority }) })
        .catch((error: unknown) => log.warn('the set-up code of the server is not stored', { error }));
    });
  }

  /** Redeems the set-up code that a user entered or the server sent, until the signal. */
  async redeem(signal: AbortSignal): Promise<void> {
    const { setUpCode } = this.#parts;
    if (!setUpCode) return;
    const take = async (text: string, replaces: string | undefined): Promise<string | undefined> => {
      const taken = await this.take(text, replaces);
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
    const before = this.found.get();
    this.#proven ??= await readFile(proofOf(copy), 'utf8').catch(() => undefined);
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
    const before = this.found.get();
    const isOther = before === undefined || markOf(before.credentials) !== markOf(credentials);
    if (isOther) this.#isRefused = false;
    if (isOther) this.#isUseless = false;
    if (isOther || before.file !== file) this.found.set({ credentials, file });
    this.unproven.set(markOf(credentials) === this.#proven ? undefined : this.found.get());
    this.#update();
    return isOther;
  }

  /** Without the record, an agent that starts without its server would take others in place of these credentials. */
  #prove(): void {
    const now = this.found.get();
    if (!now) return;
    const { copy, clock, log } = this.#parts;
    const mark = markOf(now.credentials);
    const isAgain = this.#recordAgainAt < Infinity;
    this.#proven = mark;
    this.#recordAgainAt = Infinity;
    this.#isUseless = false;
    this.unproven.set(undefined);
    void this.#oneAtATime(() =>
      atomicWrite(proofOf(copy), mark, { mode: 0o600 }).catch((error: unknown) => {
        this.#recordAgainAt = clock.now() + recordAgainMs;
        if (!isAgain) log.warn('it is not recorded that the credentials work', { error });
      }),
    );
  }

  #update(): void {
    const isInUse = this.found.get() !== undefined && !this.#isRefused;
    this.hasCredentials.set(isInUse || this.#parts.setUpCode?.pending.get() !== undefined);
  }

  #report(
    code: 'CREDENTIALS_MISSING' | 'CREDENTIALS_DAMAGED' | 'CREDENTIALS_REMOVED' | undefined,
    of: { file: string; problem: string },
  ): void {
    const { conditions, clock, log } = this.#parts;
    for (const other of ['CREDENTIALS_MISSING', 'CREDENTIALS_DAMAGED', 'CREDENTIALS_REMOVED'] as const)
      if (other !== code) clearCondition(conditions, other);
    const logged = code === undefined ? '' : `${code} ${of.problem}`;
    const isNew = logged !== this.#logged;
    this.#logged = logged;
    if (code === undefined || !isNew) return;
    setCondition(conditions, code, of, { sinceWall: clock.wall() });
    log.error(logTexts[code], { ...of, remedy: conditionOf(code, of).remedy });
  }
}

const logTexts = {
  CREDENTIALS_MISSING: 'this machine has no usable credentials; waiting for them',
  CREDENTIALS_DAMAGED: 'the credentials file cannot be used; the last valid credentials are used',
  CREDENTIALS_REMOVED: 'the credentials file was removed; its credentials are used until the agent is restarted',
} as const;

/** Beside the copy: which credentials the management server accepted last. */
const proofOf = (copy: string): string => `${path.resolve(copy)}.proven`;

/** Replaces the credentials file, for its owner only. The file before stays beside it as `.old`. */
export async function storeCredentials(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const old = await readFile(file).catch(() => undefined);
  if (old) await atomicWrite(`${file}.old`, old, { mode: 0o600 });
  await atomicWrite(file, text, { mode: 0o600 });
}

/** Like `storeCredentials`, and forgets the credentials before: they belong to another computer now. */
async function replaceCredentials(file: string, text: string): Promise<void> {
  await atomicWrite(file, text, { mode: 0o600 });
  await rm(`${file}.old`, { force: true });
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
    return parseText(await readText(file));
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
