import { createClient } from '@connectrpc/connect';
import { useTransport } from '@connectrpc/connect-query';
import { isAbort } from '@platform/kit';
import { LogService } from '@platform/contract/gen/platform/logs/v1/logs_pb';
import { useEffect, useState } from 'react';
import { useClock } from '../../ui/time.tsx';

/** The delay before a broken stream is reopened. */
const reopenMs = 2000;

interface News {
  /** Counts up whenever lines have arrived, and when the stream opens. */
  count: number;
  isLive: boolean;
  /** The error of the last attempt; undefined while the stream is open. */
  error: unknown;
}

/** Whether lines of some parts have arrived; the stream is reopened whenever it ends. */
export function useLogNews(partIds: readonly string[], isWanted: boolean): News {
  const transport = useTransport();
  const clock = useClock();
  const [news, setNews] = useState<News>({ count: 0, isLive: false, error: undefined });
  useEffect(() => {
    if (!isWanted) return undefined;
    const end = new AbortController();
    const client = createClient(LogService, transport);
    const listen = async (): Promise<void> => {
      while (!end.signal.aborted) {
        let error: unknown;
        try {
          const stream = client.watchLogs({ partIds: [...partIds] }, { signal: end.signal });
          // Its first message comes when the server listens.
          for await (const _ of stream) setNews(({ count }) => ({ count: count + 1, isLive: true, error: undefined }));
        } catch (caught) {
          if (!isAbort(caught)) error = caught;
        }
        if (end.signal.aborted) return;
        setNews((before) => ({ ...before, isLive: false, error }));
        await clock.sleep(reopenMs, end.signal);
      }
    };
    void listen();
    return () => {
      end.abort();
      setNews((before) => ({ ...before, isLive: false, error: undefined }));
    };
  }, [transport, clock, partIds, isWanted]);
  return news;
}
