import { execFile } from 'node:child_process';
import { open, realpath } from 'node:fs/promises';
import { agentStopSeconds } from '../../install/unit.ts';

export interface Said {
  /** -1: it could not be started, or took too long. */
  code: number;
  text: string;
}

/** Programs of the operating system, such as systemctl. */
export interface System {
  run(program: string, ...args: string[]): Promise<Said>;
}

const longestMs = (agentStopSeconds + 60) * 1000; // the longest that systemctl waits is for the agent to stop

export const linuxSystem: System = {
  run: (program, ...args) =>
    new Promise((resolve) => {
      const env = { ...process.env, LC_ALL: 'C', SYSTEMD_PAGER: '', SYSTEMD_COLORS: '0' };
      execFile(program, args, { timeout: longestMs, maxBuffer: 8 * 2 ** 20, env }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        const why = code === -1 && error ? error.message : '';
        resolve({ code, text: [stdout, stderr, why].filter(Boolean).join('\n').trim() });
      });
    }),
};

/** Word size of a program of this machine; undefined: there is none of these, or they are no ELF files. */
export async function wordSize(files: readonly string[]): Promise<32 | 64 | undefined> {
  for (const file of files) {
    try {
      await using handle = await open(await realpath(file), 'r');
      const { buffer } = await handle.read(Buffer.alloc(5), 0, 5, 0);
      if (buffer.toString('latin1', 0, 4) === '\x7fELF') return buffer[4] === 1 ? 32 : 64;
    } catch {
      continue; // the next one tells as much
    }
  }
  return undefined;
}
