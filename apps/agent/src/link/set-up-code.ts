import { conditionTable } from '@platform/contract/conditions/conditions';
import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { parseObject } from '@platform/contract/text/json-object';
import {
  agentVersionHeader,
  codeHeader,
  deviceHeader,
  deviceText,
  fragmentHeader,
  redeemPath,
  type SetUpText,
} from '@platform/contract/provisioning/set-up-code';
import { Cell, changedOr, setIfDifferent, within } from '@platform/kit';
import { atomicWrite } from '@platform/kit/node';
import { clearCondition, setCondition } from '../health/condition-set.ts';
import { boundedText } from './bounded-text.ts';
import { linkProblem } from './link.ts';
import type { Connect } from './set-up-connection.ts';
import type { Context } from '../health/context.ts';

const code = 'SET_UP_CODE_INVALID';
const waiting = 'SET_UP_CODE_WAITS';
const deadlineMs = 15_000;
const firstDelayMs = 1_000;
/** A device that has just joined a network shall not wait long; a failed request costs nothing. */
const longestDelayMs = 10_000;
/** The server answered, and will not answer otherwise soon. */
const refusedDelayMs = 60_000;

/** Where the agent of this root folder keeps a code that it has not redeemed yet. */
export const setUpCodeFile = (root: string): string => path.join(root, 'state', 'set-up-code.json');

interface PendingCode extends SetUpText {
  /** Random, of this device: the server gives the credentials to it again, for example after a power cut. */
  device: string;
  /** The management server sent it to this machine, which was this part: its credentials replace those of this part. */
  replaces?: string;
  /** Certificates of the server's own authority, PEM. */
  pem?: string;
}

type Redeemed = { is: 'credentials'; text: string } | { is: 'invalid' } | { is: 'later'; problem: string; ms?: number };

/** Stores the text of a credentials file. @param replaces - the part whose credentials it replaces, also if they are valid */
type TakeText = (text: string, replaces: string | undefined) => Promise<string | undefined>;

interface SetUpCodeParts extends Pick<Context, 'conditions' | 'clock' | 'log'> {
  /** Kept from its entry until the credentials are stored. */
  file: string;
  connect: Connect;
  /** Version of this agent. */
  version: string;
  /** See `fragmentOf`. */
  fragmentId: string;
}

/** The set-up code that a user entered at this machine, until the machine has redeemed it for its credentials. */
export class SetUpCode {
  readonly #parts: SetUpCodeParts;
  /** Undefined: there is none, or it was redeemed or refused. Only this class sets it. */
  readonly pending = new Cell<PendingCode | undefined>(undefined);
  /** The same, if a user entered it: a machine without credentials waits for it. Only this class sets it. */
  readonly entered = new Cell<PendingCode | undefined>(undefined);
  #refused = '';
  #logged = '';

  constructor(parts: SetUpCodeParts) {
    this.#parts = parts;
  }

  /** Reads what an earlier run or a command kept. */
  async load(): Promise<void> {
    const text = await readFile(this.#parts.file, 'utf8').catch(() => undefined);
    const kept = text === undefined ? undefined : parsePending(text);
    const before = this.pending.get();
    if (kept?.device !== before?.device || kept?.code !== before?.code) this.#set(kept);
  }

  /** Forgets a code that was not redeemed. */
  async drop(): Promise<void> {
    await rm(this.#parts.file, { force: true });
    this.#set(undefined);
  }

  /**
   * Redeems the code once, for a command.
   *
   * @param take - stores the text of a credentials file. @returns why the code waits; undefined: it was redeemed
   * @throws PlatformError SET_UP_CODE_INVALID
   */
  async redeemOnce(take: (text: string) => Promise<void>, signal: AbortSignal): Promise<string | undefined> {
    const pending = this.pending.get();
    const redeemed = pending && (await this.#redeem(pending, signal));
    if (!redeemed) return undefined;
    if (redeemed.is === 'later') return redeemed.problem;
    if (redeemed.is === 'credentials') await take(redeemed.text);
    await this.drop();
    if (redeemed.is === 'invalid') throw new PlatformError(code);
    return undefined;
  }

  /** Stores a code before it is used. It replaces another one. */
  async keep(entered: SetUpText & Pick<PendingCode, 'replaces' | 'pem'>): Promise<void> {
    const before = this.pending.get();
    const isSame = before?.code === entered.code && before.server === entered.server;
    if (isSame && before.authority === entered.authority) return;
    const pending = { ...entered, device: randomBytes(32).toString('base64url') };
    await atomicWrite(this.#parts.file, `${JSON.stringify(pending)}\n`, { mode: 0o600 });
    this.#logged = '';
    clearCondition(this.#parts.conditions, code);
    clearCondition(this.#parts.conditions, waiting);
    this.#set(pending);
  }

  /** Stores a code that the management server sent, unless it has refused it before. */
  async keepSent(sent: SetUpText & { replaces: string; pem?: string }): Promise<void> {
    if (sent.code === this.#refused || this.pending.get()?.code === sent.code) return;
    this.#parts.log.warn('another computer uses the same credentials: this one becomes a machine of its own', {
      before: sent.replaces,
    });
    await this.keep(sent);
  }

  #set(pending: PendingCode | undefined): void {
    this.pending.set(pending);
    setIfDifferent(this.entered, pending?.replaces === undefined ? pending : undefined);
  }

  /**
   * Redeems the code when the management server can be reached.
   *
   * @param take - stores the text of a credentials file. @returns why it could not; undefined: it did.
   */
  async run(take: TakeText, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    for (let failures = 0; !signal.aborted;) {
      const pending = this.pending.get();
      if (!pending) {
        failures = 0;
        await this.pending.changed(signal);
        continue;
      }
      const redeemed = await this.#redeem(pending, signal);
      if (signal.aborted) return;
      const problem = redeemed.is === 'later' ? redeemed.problem : await this.#settle(pending, redeemed, take);
      if (problem === undefined) continue;
      this.#report(problem, pending);
      const growingMs = Math.min(firstDelayMs * 2 ** failures++, longestDelayMs);
      const ms = redeemed.is === 'later' ? (redeemed.ms ?? growingMs) : growingMs;
      await changedOr(this.pending, ms, clock, signal);
    }
  }

  /** @returns why it has to be tried again; undefined: the code is done with. */
  async #settle(
    pending: PendingCode,
    redeemed: Exclude<Redeemed, { is: 'later' }>,
    take: TakeText,
  ): Promise<string | undefined> {
    const { conditions, clock, log } = this.#parts;
    const problem = redeemed.is === 'credentials' ? await take(redeemed.text, pending.replaces) : undefined;
    if (problem !== undefined) return problem;
    if (this.pending.get() !== pending) return undefined; // another one was entered meanwhile
    await rm(this.#parts.file, { force: true });
    clearCondition(conditions, waiting);
    this.#set(undefined);
    if (redeemed.is === 'credentials') {
      clearCondition(conditions, code);
      log.info('the set-up code was redeemed for credentials', { server: pending.server });
      return undefined;
    }
    if (pending.replaces !== undefined) {
      this.#refused = pending.code; // it goes on as the machine that it was
      log.error('the management server refuses the set-up code that it sent', { server: pending.server });
      return undefined;
    }
    setCondition(conditions, code, {}, { sinceWall: clock.wall() });
    log.error('the management server refuses the set-up code', {
      server: pending.server,
      remedy: conditionTable[code].remedy,
    });
    return undefined;
  }

  async #redeem(pending: PendingCode, signal: AbortSignal): Promise<Redeemed> {
    const { clock, connect, version, fragmentId } = this.#parts;
    const url = `${pending.server}${redeemPath}`;
    const headers = {
      [codeHeader]: pending.code,
      [deviceHeader]: pending.device,
      [agentVersionHeader]: version,
      ...(fragmentId !== '' && { [fragmentHeader]: fragmentId }),
    };
    try {
      return await within(deadlineMs, { what: 'the set-up code', clock, signal }, async (until) => {
        const send = await connect(pending, until);
        const answer = await send(url, { method: 'POST', headers, redirect: 'manual', signal: until });
        const text = await boundedText(answer);
        if (answer.status === 200) return { is: 'credentials', text };
        if (answer.status === 404 && text.includes(code)) return { is: 'invalid' };
        return { is: 'later', problem: `${pending.server} answers HTTP ${answer.status}`, ms: refusedDelayMs };
      });
    } catch (error) {
      if (error instanceof PlatformError) return { is: 'later', problem: error.what, ms: refusedDelayMs };
      return { is: 'later', problem: linkProblem(error, { url, now: clock.wall() }).what };
    }
  }

  /** Once for each problem: a device may wait for its network for days. */
  #report(problem: string, { server }: PendingCode): void {
    if (problem === this.#logged) return;
    this.#logged = problem;
    const sinceWall = this.#parts.clock.wall();
    setCondition(this.#parts.conditions, waiting, { server, problem }, { sinceWall });
    this.#parts.log.warn('the set-up code is not redeemed yet', { server, problem });
  }
}

function parsePending(text: string): PendingCode | undefined {
  const parsed = parseObject(text);
  const { code: letters, server, device, authority, replaces, pem } = parsed ?? {};
  if (typeof letters !== 'string' || typeof server !== 'string' || typeof device !== 'string') return undefined;
  if (!deviceText.test(device) || !URL.canParse(server)) return undefined;
  return {
    code: letters,
    server,
    device,
    ...(typeof authority === 'string' && { authority }),
    ...(typeof replaces === 'string' && { replaces }),
    ...(typeof pem === 'string' && { pem }),
  };
}
