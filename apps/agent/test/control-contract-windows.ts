// The contract of the control channel over a named pipe: compiled for Windows and run in Wine by windows.lab.test.ts.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { pipeFile } from '../src/control/address.ts';
import { controlPipe } from '../src/os/windows/device.ts';
import { controlContract } from './control-contract.ts';

/** @returns how many cases failed */
async function main(root: string): Promise<number> {
  await mkdir(path.join(root, 'state'), { recursive: true });
  let failed = 0;
  await controlContract({ root, open: controlPipe(root, pipeFile) }, async (name, work) => {
    const problem = await work().then(
      () => '',
      (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error)),
    );
    if (problem !== '') failed++;
    process.stdout.write(problem === '' ? `ok: ${name}\n` : `failed: ${name}: ${problem}\n`);
  });
  return failed;
}

process.exit(await main(path.resolve(process.argv[2] ?? '')));
