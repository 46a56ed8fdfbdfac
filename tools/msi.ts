// Makes the package of Windows for the agent:
//   node tools/msi.ts [FILE] [--release-version V] [--out FOLDER]
// FILE: an agent that tools/release.ts built, with FILE.json beside it. Without it, builds the agent for windows/amd64.
// Prints one JSON line on stdout.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { plainEnvironment } from '../packages/kit/src/node/environment.ts';
import { makeMsi, NoMsi } from './release/msi.ts';

const root = path.resolve(import.meta.dirname, '..');

function built(version: string | undefined): string {
  const args = [path.join(root, 'tools', 'release.ts'), 'platform-agent', '--platform', 'windows/amd64'];
  if (version !== undefined) args.push('--release-version', version);
  const done = spawnSync(process.execPath, args, {
    env: plainEnvironment(),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (done.status !== 0) throw new NoMsi('The agent for windows/amd64 could not be built.');
  return (JSON.parse(done.stdout) as { file: string }).file;
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'release-version': { type: 'string' }, out: { type: 'string', default: path.join(root, 'dist') } },
  });
  const file = positionals[0] ?? built(values['release-version']);
  const about = JSON.parse(readFileSync(`${file}.json`, 'utf8')) as {
    version: string;
    platform: string;
    sha256: string;
  };
  const { version, platform, sha256 } = about;
  const msi = makeMsi({ file: path.resolve(file), version, platform }, sha256, path.resolve(values.out));
  process.stdout.write(`${JSON.stringify({ file: msi, version, platform })}\n`);
} catch (error) {
  if (!(error instanceof NoMsi)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
