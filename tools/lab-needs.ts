// Installs what the lab's tests need: Debian packages, and once the image of its machines (see e2e/lab/README.md).
import { spawnSync } from 'node:child_process';
import path from 'node:path';

/** Exits with instructions if an installation fails. */
export function prepareLab(root: string): void {
  if (process.getuid?.() !== 0) {
    process.stderr.write('The lab starts containers and virtual machines: run this as root on Debian 12.\n');
    process.exit(1);
  }
  const lab = path.join(root, 'e2e', 'lab');
  for (const step of [['setup.sh'], ['build-image.sh', '--if-missing']]) {
    const [script = '', ...args] = step;
    const done = spawnSync('bash', [path.join(lab, script), ...args], { stdio: ['ignore', 2, 2] });
    if (done.status === 0) continue;
    process.stderr.write(`${script} of the lab ended with ${done.status ?? done.signal}.\n`);
    process.exit(1);
  }
}
