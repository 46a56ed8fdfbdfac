import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Sorted relative paths of all files below a folder. */
export const filesUnder = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .toSorted();

/** Lints the .proto files and generates their classes: file name → text. */
export function protocolClasses(root: string): Map<string, string> {
  const contract = path.join(root, 'packages/contract');
  const bin = path.join(root, 'node_modules/.bin');
  const out = mkdtempSync(path.join(tmpdir(), 'platform-gen-'));
  const buf = (...args: string[]): void => {
    const env = {
      ...process.env,
      PATH: [path.dirname(process.execPath), bin, process.env['PATH'] ?? ''].join(path.delimiter),
    };
    const done = spawnSync(path.join(bin, 'buf'), args, { cwd: contract, env, encoding: 'utf8' });
    if (done.status !== 0)
      throw new Error(`buf ${args.join(' ')} failed:\n${done.stdout}${done.stderr}${done.error?.message ?? ''}`);
  };
  try {
    buf('lint');
    buf('generate', '--output', out);
    const made = path.join(out, 'src/gen');
    return new Map(filesUnder(made).map((file) => [file, readFileSync(path.join(made, file), 'utf8')]));
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}
