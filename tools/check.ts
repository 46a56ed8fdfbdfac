// Checks types, lint and format of the whole checkout; --fix formats and applies the linter's fixes.
import { spawnSync } from 'node:child_process';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const bin = (name: string): string => path.join(root, 'node_modules', '.bin', name);
const isFix = process.argv.includes('--fix');

const steps: readonly (readonly string[])[] = isFix
  ? [
      [bin('oxfmt'), '.'],
      [bin('oxlint'), '--fix', '.'],
    ]
  : [
      [bin('oxfmt'), '--check', '.'],
      [bin('oxlint'), '--deny-warnings', '--type-aware', '.'],
      [bin('tsc'), '--noEmit', '-p', '.'],
      [bin('tsc'), '--noEmit', '-p', 'apps/web'],
      [bin('tsc'), '--noEmit', '-p', 'clients/conformance'],
    ];
for (const [command, ...args] of steps) {
  const done = spawnSync(command ?? '', args, { cwd: root, stdio: 'inherit' });
  if (done.status !== 0) process.exit(done.status ?? 1);
}
