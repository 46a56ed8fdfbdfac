// Installs what the lab's tests need: Debian packages, and once the images of its machines (see e2e/lab/README.md).
import { spawnSync } from 'node:child_process';
import path from 'node:path';

/** Exits with instructions if an installation fails. */
export const prepareLab = (root: string): void => prepare(root, ['setup.sh'], ['build-image.sh', '--if-missing']);

/** The same for the emulated arm64 machine. */
export const prepareNightly = (root: string): void =>
  prepare(root, ['setup.sh', '--arm64'], ['build-image-arm64.sh', '--if-missing']);

function prepare(root: string, ...steps: readonly [script: string, argument?: string][]): void {
  if (process.getuid?.() !== 0) {
    process.stderr.write('The lab starts containers and virtual machines: run this as root on Debian 12.\n');
    process.exit(1);
  }
  for (const [script, ...args] of steps) {
    const file = path.join(root, 'e2e', 'lab', script);
    const done = spawnSync('bash', [file, ...args.filter((arg) => arg !== undefined)], { stdio: ['ignore', 2, 2] });
    if (done.status === 0) continue;
    process.stderr.write(`${script} of the lab ended with ${done.status ?? done.signal}.\n`);
    process.exit(1);
  }
}
