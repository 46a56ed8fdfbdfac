import { spawn } from 'node:child_process';
import { createServer } from 'node:net';

/** Set only in programs that are made to fail, for tests of what becomes of a bad version; see tools/release.ts. */
declare const PLATFORM_TEST_FAULT: 'crash' | 'hang' | 'mute' | 'background' | undefined;

/** Does nothing in any release. */
export async function applyTestFault(): Promise<void> {
  if (typeof PLATFORM_TEST_FAULT !== 'string') return;
  if (PLATFORM_TEST_FAULT === 'background') {
    spawn('/bin/sleep', ['1000000'], { detached: true, stdio: 'ignore' }).unref();
    process.exit(0);
  }
  if (PLATFORM_TEST_FAULT === 'crash') throw new Error('this program was made to crash');
  if (PLATFORM_TEST_FAULT === 'hang') {
    createServer().listen(0, '127.0.0.1'); // lives, and does nothing
    await new Promise(() => {});
  }
  const nowhere = () => Promise.reject(new TypeError('this program was made to reach nothing'));
  globalThis.fetch = Object.assign(nowhere, { preconnect: () => undefined });
}
