// Writes lines to a small disk at argv[2], and to memory at argv[3] while it is full. Prints one JSON line per probe.
import { appendFileSync, lstatSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { posixLines } from '../src/os/posix/lines.ts';

const [, , root = '', memory = ''] = process.argv;
const lines = posixLines(root, async () => memory);
const file = 'log/out.log';
const filler = path.join(root, 'filler');
const fill = (): void => {
  const { bavail, bsize } = statfsSync(root);
  writeFileSync(filler, Buffer.alloc(bavail * bsize));
};
/** Simulates the output of a server that starts now. */
const start = async (line: string): Promise<void> => {
  const place = await lines.makeRoom(file);
  const from = await lines.end(file);
  let problem = '';
  try {
    appendFileSync(path.join(root, file), `${line}\n`);
  } catch (error) {
    problem = String(error);
  }
  const seen = (await lines.read(file, from)).lines;
  const isLink = lstatSync(path.join(root, file)).isSymbolicLink();
  process.stdout.write(`${JSON.stringify({ place, seen, isLink, problem })}\n`);
};

mkdirSync(path.join(root, 'log'));
await start('there is room');
fill();
await start('full');
await start('still full');
rmSync(memory, { recursive: true }); // a boot clears the memory file system
await start('full after a boot');
rmSync(filler);
await start('room again');
