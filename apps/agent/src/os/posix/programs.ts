import { execFile } from 'node:child_process';
import { plainEnvironment } from '@platform/kit/node';
import type { Programs } from '../ports.ts';

/** Programs of this machine; one that runs longer than `longestMs` is killed. */
export const posixPrograms = (longestMs: number): Programs => ({
  run: (program, ...args) =>
    new Promise((resolve) => {
      const env = { ...plainEnvironment(), LC_ALL: 'C', SYSTEMD_PAGER: '', SYSTEMD_COLORS: '0' };
      execFile(program, args, { timeout: longestMs, maxBuffer: 8 * 2 ** 20, env }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        const why = code === -1 && error ? error.message : '';
        resolve({ code, text: [stdout, stderr, why].filter(Boolean).join('\n').trim() });
      });
    }),
});
