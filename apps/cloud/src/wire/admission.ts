import { PlatformError } from '@platform/contract/errors/errors';
import { isLoopbackAddress, networksOf, type TrustedProxies } from './addresses.ts';
import type { CheckRequest, Reply } from './check.ts';
import { http2Stream } from './http2-stream.ts';
import { refuseCall, refuseCheck } from './refusal.ts';
import type { Request, Response } from './request.ts';
import { turns } from './turns.ts';
import type { CallPayer, OpenCall, UnprovenCalls } from './unproven-calls.ts';
import type { Visitor, Visitors } from './visitors.ts';

export type TakeCheck = (request: CheckRequest, reply: Reply) => boolean;

/** Requests that begin in one turn of the event loop, before other connections are read again. */
const atOnce = { proven: 32, unproven: 4 } as const;
/** An address with an authenticated caller makes more unproven calls: a site has many browsers and machines. */
const knownShare = 4;

export type EntranceDeps = {
  isTrusted: TrustedProxies;
  calls: UnprovenCalls;
  /** Subject of a token that this server signed, from the header; undefined: none. The token may have been revoked. */
  signedSubject: (authorization: string) => string | undefined;
};

/** @returns who pays for a call that proves nothing; undefined: no limit. */
export const payerFrom =
  (visitors: Visitors, { signedSubject }: EntranceDeps) =>
  ({ address, caller }: Visitor, authorization: string | undefined): CallPayer | undefined => {
    if (isLoopbackAddress(address)) return undefined;
    if (caller !== undefined) return { keys: [`caller ${caller}`], share: knownShare };
    const subject = authorization === undefined ? undefined : signedSubject(authorization);
    if (subject !== undefined) return { keys: [`token ${subject}`], share: 1 };
    return { keys: networksOf(address), share: visitors.isKnown(address) ? knownShare : 1 };
  };

type PayerOf = ReturnType<typeof payerFrom>;

/** Wraps the handler of config checks for connections that carry only those. */
export const takeChecks =
  (take: TakeCheck, { calls }: EntranceDeps, payerOf: PayerOf) =>
  (visitor: Visitor, request: CheckRequest, reply: Reply): boolean => {
    reply.proven = (callerId) => visitor.prove(callerId);
    if (visitor.isProven) return take(request, reply);
    const payer = payerOf(visitor, request.authorization);
    const call = payer && calls.begin(payer);
    if (call instanceof PlatformError) {
      refuseCheck(reply, call);
      return true;
    }
    reply.proven = (callerId) => {
      call?.prove();
      visitor.prove(callerId);
    };
    const done = visitor.busy(() => true);
    reply.onEnd(done);
    reply.onEnd(() => call?.end());
    const isTaken = take(request, reply);
    if (isTaken) return true;
    done();
    // The request is admitted again by the HTTP server.
    call?.prove();
    return false;
  };

/** Handles requests in turns, and refuses those of payers over their limit. */
export function admission({ calls }: EntranceDeps, payerOf: PayerOf) {
  const open = new WeakMap<Request, OpenCall>();
  const provenTurns = turns(atOnce.proven, setImmediate);
  const unprovenTurns = turns(atOnce.unproven, setImmediate);
  return {
    prove: (request: Request) => open.get(request)?.prove(),
    /** @param canClose - the connection carries requests of this visitor only. */
    admit(of: { request: Request; response: Response; visitor: Visitor; canClose: boolean }, handle: () => void): void {
      const { request, response, visitor } = of;
      const payer = payerOf(visitor, request.headers.authorization);
      const call = payer && calls.begin(payer);
      if (payer && call instanceof PlatformError) {
        if (of.canClose && calls.isDeaf(payer)) return visitor.close();
        // A stream may be reset already.
        if (!isGone(response) && !isLost(request)) refuseCall(request, response, call);
        return;
      }
      if (call && !(call instanceof PlatformError)) {
        open.set(request, call);
        response.once('close', call.end);
        // The response of a pipelined request that never had its turn is not closed with the connection.
        request.once('close', () => {
          if (isLost(request)) call.end();
        });
      }
      const { run } = visitor.isProven ? provenTurns : unprovenTurns;
      run(payer?.keys[0] ?? visitor.address, () => {
        if (!isGone(response) && !isLost(request)) handle();
      });
    },
  };
}

/** The connection of an HTTP/1 request is closed. */
const isLost = (request: Request): boolean => request.httpVersionMajor === 1 && request.socket.destroyed;

const isGone = (response: Response): boolean => http2Stream(response)?.destroyed ?? response.destroyed;
