import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { plainEnvironment } from '@platform/kit/node';
import { PlatformError } from '@platform/contract/errors/errors';
import { checkout } from '../data-folder.ts';

/**
 * Builds agent and machine server of this checkout for every platform into dist/; skips what is built already.
 *
 * @param version - default: that of each program's package.json.
 * @returns the files.
 * @throws PlatformError INVALID_ARGUMENT for a version that is none; Error with the builder's reason.
 */
export async function buildPrograms(version: string | undefined): Promise<string[]> {
  const files: string[] = [];
  for (const program of ['platform-agent', 'platform-server']) {
    const args = [path.join(checkout, 'tools', 'release.ts'), program, '--platform', 'all'];
    if (version !== undefined) args.push('--release-version', version);
    const child = spawn(process.execPath, args, {
      env: plainEnvironment(),
      cwd: checkout,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    if (code === 2)
      throw new PlatformError('INVALID_ARGUMENT', {
        field: '--release-version',
        value: version ?? '',
        limit: errors.trim(),
      });
    if (code !== 0) throw new Error(`${program} could not be built:\n${errors.trim()}`);
    files.push(
      ...out
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { file: string }).file),
    );
  }
  return files;
}
