/** The JWT for slurmrestd, read again before it expires. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, Secret, type Clock } from '@platform/kit';
import { readText } from '@platform/kit/node';

export interface Tokens {
  /** @throws PlatformError ENGINE_UNREACHABLE when no token is available. */
  get(signal: AbortSignal): Promise<Secret>;
  /** Discards the cached token after slurmrestd rejected it. */
  forget(): void;
}
const lost = (problem: string, cause: unknown): PlatformError =>
  new PlatformError('ENGINE_UNREACHABLE', { engine: 'Slurm', problem: `no token: ${problem}` }, cause);

/** A token file that another process renews. */
export function tokenFile(file: string): Tokens {
  return {
    get: async () => {
      const text = await readText(file).catch((error: unknown) => {
        throw lost(errorText(error), error);
      });
      return new Secret(text.trim().replace(/^SLURM_JWT=/, ''));
    },
    forget: () => {},
  };
}

const lifeSeconds = 600;
const exec = promisify(execFile);

/** Runs `scontrol token` on this host. */
export function tokenCommand(user: string, clock: Clock): Tokens {
  let known: { token: Secret; until: number } | undefined;
  return {
    get: async (signal) => {
      if (known && clock.now() < known.until) return known.token;
      const args = ['token', `lifespan=${lifeSeconds}`, `username=${user}`];
      const { stdout } = await exec('scontrol', args, { signal }).catch((error: unknown) => {
        if (signal.aborted) throw error;
        throw lost(`${errorText(error)}; give a file with --slurm-token-file`, error);
      });
      const text = /^SLURM_JWT=(\S+)$/m.exec(stdout)?.[1];
      if (text === undefined) throw lost('scontrol token printed none', undefined);
      const token = new Secret(text);
      known = { token, until: clock.now() + (lifeSeconds * 1000) / 2 };
      return token;
    },
    forget: () => {
      known = undefined;
    },
  };
}
