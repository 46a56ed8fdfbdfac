import { spawn } from 'node:child_process';
import { createServer } from 'node:net';

/** Set only in programs built to fail, for tests of the rollback; see tools/release.ts. */
declare const PLATFORM_TEST_FAULT: 'crash' | 'hang' | 'mute' | 'background' | undefined;

/** Does nothing in a release. */
export async function applyTestFault(): Promise<void> {
  if (typeof PLATFORM_TEST_FAULT !== 'string') return;
  if (PLATFORM_TEST_FAULT === 'background') {
    spawn('/bin/sleep', ['1000000'], { detached: true, stdio: 'ignore' }).unref();
    process.exit(0);
  }
  if (PLATFORM_TEST_FAULT === 'crash') throw new Error('this program was made to crash');
  if (PLATFORM_TEST_FAULT === 'hang') {
    createServer().listen(0, '127.0.0.1'); // stays alive without doing anything
    await new Promise(() => {});
  }
  const nowhere = () => Promise.reject(new TypeError('this program was made to reach nothing'));
  globalThis.fetch = Object.assign(nowhere, { preconnect: () => undefined });
}
