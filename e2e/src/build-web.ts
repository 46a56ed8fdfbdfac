import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { plainEnvironment } from '@platform/kit/node';
import { checkout } from './up-process.ts';

/** Builds the web app of this checkout, unless it is built as it is now. */
export function buildWeb(): void {
  const build = ['--disable-warning=ExperimentalWarning', path.join(checkout, 'tools', 'build.ts'), '--web'];
  execFileSync(process.execPath, build, { cwd: checkout, env: plainEnvironment(), stdio: 'ignore' });
}
