import http2 from 'node:http2';
import type { Clock } from '@platform/kit';
import type { Request, Response } from './request.ts';

type Waited = { bytes: number; since: number };
type Session = Waited & { streams: Set<http2.ServerHttp2Stream> };

/** Clients keep unused channels open; after this time the server closes them. */
const idleSessionMs = 30 * 60_000;

export type StalledRequests = {
  follow(request: Request, response: Response): void;
  followSession(session: http2.ServerHttp2Session): void;
};

/**
 * Tracks messages that were announced and are incomplete. Any client can announce one without a key and would hold a
 * connection. So a message that makes no progress for `nextByteMs` is canceled. One timer serves all.
 */
export function stalledRequests(clock: Clock, nextByteMs: number, stop: AbortSignal): StalledRequests {
  const requests = new Map<Request, Waited>();
  const sessions = new Map<http2.ServerHttp2Session, Session>();
  /** Milliseconds since the last progress. */
  const quietMs = (waited: Waited, bytes: number, isOurTurn: boolean): number => {
    if (bytes !== waited.bytes || isOurTurn) Object.assign(waited, { bytes, since: clock.now() });
    return clock.now() - waited.since;
  };
  const look = (): void => {
    for (const [request, waited] of requests) {
      // Received bytes that are not read yet wait for the server, not for the client.
      const isOurTurn = request.readableLength > 0 || request.isPaused();
      if (quietMs(waited, request.socket.bytesRead, isOurTurn) > nextByteMs) request.socket.destroy();
    }
    for (const [session, waited] of sessions) {
      const open = [...waited.streams].filter((stream) => !stream.readableEnded);
      const isOurTurn = open.some((stream) => stream.readableLength > 0);
      const quiet = quietMs(waited, session.destroyed ? 0 : session.socket.bytesRead, isOurTurn);
      if (quiet > nextByteMs) for (const stream of open) stream.close(http2.constants.NGHTTP2_CANCEL);
      if (quiet > idleSessionMs && waited.streams.size === 0) session.close();
    }
  };
  const run = async (): Promise<void> => {
    while (!stop.aborted) {
      await clock.sleep(Math.min(5_000, nextByteMs / 4), stop);
      look();
    }
  };
  void run();
  return {
    follow(request, response) {
      if (request.httpVersionMajor > 1 || !isAnnounced(request)) return;
      const forget = (): void => void requests.delete(request);
      requests.set(request, { bytes: request.socket.bytesRead, since: clock.now() });
      request.once('end', forget);
      request.once('close', forget);
      // The unread rest of a rejected message would block the next message on its connection.
      response.once('finish', () => {
        if (!request.complete) request.resume();
      });
    },
    followSession(session) {
      const streams: Session['streams'] = new Set();
      sessions.set(session, { bytes: 0, since: clock.now(), streams });
      session.once('close', () => sessions.delete(session));
      session.on('stream', (stream) => {
        streams.add(stream);
        stream.once('close', () => streams.delete(stream));
      });
    },
  };
}

const isAnnounced = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
