/** The failure to report when an attempt ended without a final status: the engine's status as an error of the table. */
import { PlatformError, type ErrorCode, type ErrorData } from '@platform/contract/errors/errors';
import type { JobLimits } from '@platform/contract/job/job';
import type { Failure } from '../attempt-life.ts';
import type { EngineFailure } from './dispatch-life.ts';
import type { Engine, EngineEnd } from './engine.ts';

export interface EngineCase {
  readonly engine: Engine['name'];
  readonly ref: string;
  readonly limits: JobLimits;
  /** An exit code blames the script of a user, but not a built-in trainer. */
  readonly isBuiltIn: boolean;
  /** Last lines of the program's output. */
  readonly lastLines: readonly string[];
}

const fail = (cause: Failure['cause'], code: ErrorCode, data: ErrorData): Failure => {
  const { what, remedy } = new PlatformError(code, data);
  return { cause, code, message: `${what} ${remedy}` };
};

export function failureOfEngine(failure: EngineFailure, of: EngineCase): Failure {
  const { engine, ref } = of;
  switch (failure.because) {
    case 'handedBack':
      return fail('infrastructure', 'RUNNER_STOPPED', {});
    case 'unreachable':
      return fail('infrastructure', 'ENGINE_UNREACHABLE', { engine, problem: failure.problem });
    case 'stuck':
      return fail('infrastructure', 'ENGINE_JOB_STUCK', {
        engine,
        ref,
        problem: failure.why,
        minutes: failure.minutes,
      });
    case 'ended':
      return failure.status.at === 'absent'
        ? lost(of, `${engine} does not know it any more`)
        : failureOfEnd(failure.status.how, of);
  }
}

function failureOfEnd(how: EngineEnd, of: EngineCase): Failure {
  const { engine, ref, limits, isBuiltIn } = of;
  switch (how.is) {
    case 'canceled':
      return fail('infrastructure', 'ENGINE_JOB_CANCELED', { engine, ref });
    case 'timedOut': {
      const { message } = fail('script', 'TRAINING_TIMED_OUT', { limitSeconds: limits.wall_seconds });
      return { cause: 'script', code: 'TRAINING_TIMED_OUT', message: `${engine} ended job ${ref}: ${message}` };
    }
    case 'outOfMemory': {
      const message = `${engine} ended job ${ref}: it needed more memory than its limit of ${limits.memory_mib} MiB. ${remedyOf('OUT_OF_MEMORY')}`;
      return { cause: isBuiltIn ? 'infrastructure' : 'script', code: 'OUT_OF_MEMORY', message };
    }
    case 'lost':
      return lost(of, how.word);
    case 'succeeded':
      return lost(of, 'it ended without delivering a result');
    case 'killed':
      return lost(of, `killed by signal ${how.signal}`);
    case 'exited':
      return lost(of, `exit code ${how.code}${hintOf(how.code)}`);
  }
}

const lost = ({ engine, ref, lastLines }: EngineCase, problem: string): Failure => {
  const failure = fail('infrastructure', 'ENGINE_JOB_LOST', { engine, ref, problem });
  return lastLines.length === 0 ? failure : { ...failure, message: `${failure.message}\n${lastLines.join('\n')}` };
};
const remedyOf = (code: ErrorCode): string => new PlatformError(code, { usedMib: 0, limitMib: 0 }).remedy;

/** Explains exit codes of the shell (126, 127) and of the attempt program (69, 75). */
function hintOf(code: number): string {
  if (code === 126 || code === 127) {
    return ', the runner was not found there: install it on each node, or name it with --attempt-command';
  }
  if (code === 69) return ', the attempt was no longer its own';
  return code === 75 ? ', the engine started it a second time' : '';
}
