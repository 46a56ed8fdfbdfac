import { Code, ConnectError } from '@connectrpc/connect';
import { errorCodeOf, PlatformError, type ErrorCode } from '@platform/contract/errors/errors';
import { JobFormatError } from '@platform/contract/job/job';
import { errorText } from '@platform/kit';
import type { Failure } from './attempt-life.ts';
import type { TrainerEnd } from './trainer/trainer-process.ts';

/** Maps an error from preparing, starting or uploading an attempt to a failure. */
export function failureOfError(error: unknown): Failure {
  if (error instanceof JobFormatError)
    return { cause: 'data', code: 'INVALID_ARGUMENT', message: `job: ${error.message}` };
  if (isDiskFull(error)) {
    const message = 'The disk of the runner is full. Free some space; the job is tried again.';
    return { cause: 'infrastructure', code: 'DISK_FULL', message };
  }
  if (error instanceof PlatformError) {
    return { cause: causeOf(error.code), code: error.code, message: `${error.what} ${error.remedy}` };
  }
  const code =
    errorCodeOf(error) ?? (error instanceof ConnectError && error.code === Code.Unavailable ? 'OFFLINE' : 'INTERNAL');
  // With a full organization, a retry would fail in the same way.
  return { cause: code === 'ORGANIZATION_FULL' ? 'data' : 'infrastructure', code, message: errorText(error) };
}

/** The failure when the server rejects a result permanently: it would reject the result of a retry, too. */
export function failureOfRefusal(error: unknown): Failure {
  const failure = failureOfError(error);
  const isWrong = error instanceof ConnectError && error.code === Code.InvalidArgument;
  return isWrong ? { ...failure, cause: 'data', code: errorCodeOf(error) ?? 'INVALID_ARGUMENT' } : failure;
}

function causeOf(code: ErrorCode): Failure['cause'] {
  if (code === 'INVALID_ARGUMENT') return 'data';
  return code === 'TRAINER_FAILED' || code.startsWith('SCRIPT_') ? 'script' : 'infrastructure';
}

function isDiskFull(error: unknown): boolean {
  for (let e = error; e instanceof Error; e = e.cause) {
    if ('code' in e && (e.code === 'ENOSPC' || e.code === 'EDQUOT')) return true;
  }
  return false;
}

/** The trainer's last error, or the last lines of its output if it reported none. */
export function reportedFailure({ reported, exit, lastLines }: TrainerEnd): TrainerEnd['reported'] {
  if (reported || exit.code === 0 || lastLines.length === 0) return reported;
  const how = exit.signal === null ? `with code ${exit.code}` : `by ${exit.signal}`;
  return { code: 'TRAINER_FAILED', message: `The trainer ended ${how}:\n${lastLines.join('\n')}` };
}
