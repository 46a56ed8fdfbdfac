import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import type { Web } from '../../os/ports.ts';
import { fetchDocument } from './document-fetch.ts';

test('a server that never answers: whoever loses patience is let go', async () => {
  const stop = new AbortController();
  const web: Web = {
    ask: (_method, _url, _headers, signal) =>
      // Like a real socket: reject only after everything else that is due now.
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => setImmediate(() => reject(signal.reason as Error))),
      ),
  };
  const asked = fetchDocument(web, 'http://127.0.0.1/tuf/1.root.json', 1000, {
    clock: systemClock,
    signal: stop.signal,
  });
  stop.abort();
  await assert.rejects(asked, { name: 'AbortError' });
});
