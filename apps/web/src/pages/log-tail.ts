import { createClient } from '@connectrpc/connect';
import { useTransport } from '@connectrpc/connect-query';
import { isAbort } from '@platform/kit';
import type { Clock } from '@platform/kit';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { useEffect, useRef, useState } from 'react';
import { useClock } from '../parts/time.tsx';
import { toLogLine, mergeLines } from '../view/log-lines.ts';
import type { LogLine } from '../view/log-lines.ts';

/** Redraws new lines at most this often, whatever their rate. */
const batchMs = 100;
/** The delay before a broken stream is reopened. */
const reopenMs = 2000;

export interface Tail {
  lines: readonly LogLine[];
  isLive: boolean;
  isPaused: boolean;
  /** Lines buffered during the pause. */
  waiting: number;
  /** The error of the last attempt; undefined while the stream is open. */
  error: unknown;
  toggle: () => void;
}

/**
 * Live lines of a part. The stream is reopened whenever it ends; lines are identified by their keys, so none appears
 * twice.
 */
export function useLogTail(partId: string): Tail {
  const transport = useTransport();
  const clock = useClock();
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [waiting, setWaiting] = useState(0);
  const [isLive, setLive] = useState(false);
  const [isPaused, setPaused] = useState(false);
  const [error, setError] = useState<unknown>();
  const pause = useRef(false);
  const held = useRef<readonly LogLine[]>([]);

  useEffect(() => {
    const end = new AbortController();
    const client = createClient(AppService, transport);
    held.current = [];
    setLines([]);

    const listen = async (): Promise<void> => {
      while (!end.signal.aborted) {
        try {
          const stream = client.tailRobotPartLogs(
            { id: partId, errorsOnly: false },
            { signal: end.signal, onHeader: () => setLive(true) },
          );
          setError(undefined);
          for await (const { logs } of stream) held.current = mergeLines(held.current, logs.map(toLogLine));
        } catch (caught) {
          if (!end.signal.aborted && !isAbort(caught)) setError(caught);
        }
        setLive(false);
        await clock.sleep(reopenMs, end.signal);
      }
    };
    const draw = async (clockOfPage: Clock): Promise<void> => {
      while (!end.signal.aborted) {
        await clockOfPage.sleep(batchMs, end.signal);
        if (held.current.length === 0) continue;
        setWaiting(pause.current ? held.current.length : 0);
        if (pause.current) continue;
        const fresh = held.current;
        held.current = [];
        setLines((now) => mergeLines(now, fresh));
      }
    };
    void listen();
    void draw(clock);
    return () => end.abort();
  }, [transport, clock, partId]);

  const toggle = (): void => {
    pause.current = !pause.current;
    setPaused(pause.current);
    if (!pause.current) setWaiting(0);
  };
  return { lines, isLive, isPaused, waiting, error, toggle };
}
