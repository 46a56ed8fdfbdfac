import { access, constants } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import type { AgentStatus, ControlAnswer, ControlFailure } from '@platform/contract/machine/agent-status';
import type { Clock } from '@platform/kit';
import { TimeoutError, within } from '@platform/kit';
import { controlAddress, socketFile } from './address.ts';
import { asAdministrator, commandOfService } from './service-words.ts';

const answerMs = 6_000;
const answerLimitBytes = 4 * 2 ** 20;

/** No agent answers for this folder. */
export class NoAgentRuns extends Error {
  constructor(root: string, cause: unknown) {
    super(`no agent answers for ${root}`, { cause });
    this.name = 'NoAgentRuns';
  }
}

/** The agent answers root only. */
class NotForYou extends Error {
  readonly code = 'NOT_ROOT';
  readonly remedy = asAdministrator();
  readonly exitCode = 4;
  constructor(root: string, cause: unknown) {
    super(`The agent of ${root} answers root alone.`, { cause });
    this.name = 'NotForYou';
  }
}

/** An agent holds the folder but does not answer. */
export class AgentSilent extends Error {
  readonly code = 'AGENT_SILENT';
  readonly remedy = `It may hang; whatever keeps it ends it within minutes. At once: ${commandOfService('restart')}. What it did last: platform-agent logs`;
  readonly exitCode = 1;
  constructor(root: string, cause: unknown) {
    super(`The agent of ${root} has not answered for ${answerMs / 1000} seconds.`, { cause });
    this.name = 'AgentSilent';
  }
}

/** The agent's own refusal, verbatim. */
class ControlRefusal extends Error {
  readonly code: string;
  readonly remedy: string;
  constructor({ code, what, remedy }: ControlFailure['error']) {
    super(what);
    this.name = 'ControlRefusal';
    this.code = code;
    this.remedy = remedy;
  }
}

/**
 * Sends requests to the agent of `root`. Each throws NoAgentRuns, NotForYou, AgentSilent, ControlRefusal, or Error for
 * an answer that cannot be parsed.
 */
export function controlOf(root: string, clock: Clock) {
  const ask = async (method: string, what: string, body?: unknown): Promise<unknown> => {
    const { status, text } = await within(answerMs, { what: `the agent's answer to ${what}`, clock }, async (signal) =>
      exchange(await controlAddress(root), method, what, body, signal),
    ).catch(async (error: unknown) => {
      if (error instanceof TimeoutError) throw new AgentSilent(root, error);
      // Some runtimes do not distinguish a socket without access from a missing one.
      const closed = await access(path.join(root, socketFile), constants.W_OK).then(() => '', codeOf);
      if ([closed, codeOf(error)].some((code) => ['EACCES', 'EPERM'].includes(code))) throw new NotForYou(root, error);
      throw isRefusedConnection(error) ? new NoAgentRuns(root, error) : error;
    });
    const answer = JSON.parse(text) as unknown;
    if (status === 200) return answer;
    throw new ControlRefusal((answer as ControlFailure).error);
  };
  return {
    status: async () => (await ask('GET', '/status')) as AgentStatus,
    post: async (what: string, body: unknown) => (await ask('POST', what, body)) as ControlAnswer,
  };
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');
const isRefusedConnection = (error: unknown): boolean =>
  ['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'FailedToOpenSocket'].includes(codeOf(error));

function exchange(
  socketPath: string,
  method: string,
  what: string,
  body: unknown,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const bytes = body === undefined ? undefined : JSON.stringify(body);
    const headers =
      bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) };
    const asked = request({ socketPath, method, path: what, headers, signal }, (answer) => {
      const chunks: Buffer[] = [];
      let size = 0;
      answer.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > answerLimitBytes) return void answer.destroy(new Error('the answer is too long'));
        chunks.push(chunk);
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }));
      answer.on('error', reject);
    });
    asked.on('error', reject);
    asked.end(bytes);
  });
}
