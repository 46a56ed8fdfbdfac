import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { plainEnvironment } from '@platform/kit/node';
import { readArchive, type ReleaseFile } from '../archive.ts';
import { checkout } from '../data-folder.ts';

export interface Built {
  readonly web: string;
  /** Releases of the machine server and the agent. */
  readonly releases: readonly ReleaseFile[];
  readonly agent: string;
}

/** Builds what a start from a checkout needs; skips unchanged parts. An unpacked archive of the server has it all. */
export async function build(onNote: (note: string) => void): Promise<Built> {
  const archive = readArchive();
  if (archive) return { web: archive.web, releases: archive.releases, agent: archive.agent };
  const child = spawn(process.execPath, [path.join(checkout, 'tools', 'build.ts')], {
    env: plainEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString().split('\n').filter(Boolean)) {
      lines.push(line);
      if (line.startsWith('Building ')) onNote(line);
    }
  });
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`The build failed:\n${lines.slice(-30).join('\n')}`);
  const built = JSON.parse(out.trim().split('\n').at(-1) ?? '') as {
    web: string;
    releases: ReleaseFile[];
    agent: { file: string };
  };
  return { web: built.web, releases: built.releases, agent: built.agent.file };
}
