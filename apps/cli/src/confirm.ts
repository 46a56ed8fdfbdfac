import { createInterface } from 'node:readline/promises';

/** Asks the user at a terminal. Without a terminal, running the command is the confirmation. */
export async function confirmed(question: string, flags: { yes?: boolean }): Promise<boolean> {
  if (flags.yes || !process.stdin.isTTY || !process.stderr.isTTY) return true;
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await asking.question(`${question} [y/N] `)).trim());
  } finally {
    asking.close();
  }
}
