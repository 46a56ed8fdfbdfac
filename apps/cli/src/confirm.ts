import { createInterface } from 'node:readline/promises';

/** Asks a person at a terminal. Where nobody can answer, the command itself is the answer. */
export async function confirmed(question: string, flags: { yes?: boolean }): Promise<boolean> {
  if (flags.yes || !process.stdin.isTTY || !process.stderr.isTTY) return true;
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await asking.question(`${question} [y/N] `)).trim());
  } finally {
    asking.close();
  }
}
