// Makes Debian packages of the agent:
//   node tools/deb.ts [FILE …] [--release-version V] [--trusted-root FILE] [--out FOLDER]
// FILE: an agent that tools/release.ts built, with FILE.json beside it. Without files it builds the agent for
// linux/amd64 and linux/arm64. Prints one JSON line for each package on stdout.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { plainEnvironment } from '../packages/kit/src/node/environment.ts';
import { makeDeb, NoDeb, type DebOf } from './release/deb.ts';

const root = path.resolve(import.meta.dirname, '..');

function built(platform: string, version: string | undefined): string {
  const args = [path.join(root, 'tools', 'release.ts'), 'platform-agent', '--platform', platform];
  if (version !== undefined) args.push('--release-version', version);
  const done = spawnSync(process.execPath, args, {
    env: plainEnvironment(),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (done.status !== 0) throw new NoDeb(`The agent for ${platform} could not be built.`);
  return (JSON.parse(done.stdout) as { file: string }).file;
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'release-version': { type: 'string' },
      'trusted-root': { type: 'string' },
      out: { type: 'string', default: path.join(root, 'dist') },
    },
  });
  const platforms = ['linux/amd64', 'linux/arm64'];
  const files = positionals.length > 0 ? positionals : platforms.map((one) => built(one, values['release-version']));
  for (const file of files) {
    const about = JSON.parse(readFileSync(`${file}.json`, 'utf8')) as Pick<DebOf, 'version' | 'platform'>;
    const { version, platform } = about;
    const deb = makeDeb({ file, version, platform, trustedRoot: values['trusted-root'] }, path.resolve(values.out));
    process.stdout.write(`${JSON.stringify({ file: deb, version, platform })}\n`);
  }
} catch (error) {
  if (!(error instanceof NoDeb)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
