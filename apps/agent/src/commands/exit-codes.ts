import { asAdministrator } from '../control/service-words.ts';
import { missingInodes } from '../os/file-problem.ts';

/** The exit codes of all commands, defined only here; `platform-agent help` and docs/generated/agent.md show them. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notRunning: 3,
  refused: 4,
  nothingToDo: 5,
  broken: 70,
} as const;

export const exitMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'done; with `install` also: everything was so already',
  failed: 'it failed, for a reason that is printed; what ran before still runs',
  usage: 'the command line, the credentials file or another input cannot be understood',
  notRunning: 'no agent runs for this folder; with `run`: another one runs already',
  refused: 'not allowed: not root, a check failed, or nothing was confirmed',
  nothingToDo: 'there was nothing to do',
  broken: 'an unexpected failure; the last lines on stderr show where',
};

const raiseLimit = {
  remedy: 'Close programs, or raise the limit: ulimit -n of the shell, or fs.file-max of the machine.',
  exitCode: exitCodes.failed,
};
const machineProblems: Readonly<Record<string, { says: string; remedy: string; exitCode: number }>> = {
  EACCES: { says: 'not allowed', remedy: asAdministrator(), exitCode: exitCodes.refused },
  EPERM: { says: 'not allowed', remedy: asAdministrator(), exitCode: exitCodes.refused },
  EROFS: {
    says: 'the disk is read-only',
    remedy: 'Make it writable, then repeat the command.',
    exitCode: exitCodes.failed,
  },
  ENOSPC: {
    says: 'the disk is full',
    remedy: 'Free some space on it, then repeat the command.',
    exitCode: exitCodes.failed,
  },
  EMFILE: { says: 'the limit of open files of this process is reached', ...raiseLimit },
  ENFILE: { says: 'the limit of open files of this machine is reached', ...raiseLimit },
};

/** An error of the operating system, for the user; undefined: another kind of error. */
export function endedByMachine(error: unknown): Ended | undefined {
  const { code = '', path } = error as NodeJS.ErrnoException;
  const problem = error instanceof Error ? machineProblems[code] : undefined;
  if (!problem || path === undefined) return undefined;
  const { remedy, exitCode } = problem;
  const says = (code === 'ENOSPC' ? missingInodes(error) : undefined) ?? problem.says;
  // A file is first written under a temporary name.
  const named = path.replace(/\.[0-9a-f]{12}\.tmp$/, '');
  return new Ended(exitCode, { code, what: `${named} cannot be used: ${says}.`, remedy });
}

/** Ends the command with its own exit code; `what` and `remedy` are for the user. */
export class Ended extends Error {
  readonly exitCode: number;
  readonly code: string;
  readonly remedy: string;
  constructor(exitCode: number, of: { code: string; what: string; remedy?: string }) {
    super(of.what);
    this.name = 'Ended';
    this.exitCode = exitCode;
    this.code = of.code;
    this.remedy = of.remedy ?? '';
  }
}
