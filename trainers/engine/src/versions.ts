import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus } from 'node:os';
import sharp from 'sharp';

const require = createRequire(import.meta.url);

function versionIn(file: string): string {
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: string };
  return version ?? 'unknown';
}

/** Of everything that can change the result. */
export function versions(): Record<string, string> {
  return {
    trainer: versionIn(new URL('../package.json', import.meta.url).pathname),
    node: process.versions.node,
    onnxruntime: versionIn(require.resolve('onnxruntime-node/package.json')),
    sharp: sharp.versions.sharp ?? 'unknown',
  };
}
export function machine(): { cpu: string; cores: number; peak_rss_mib: number } {
  const rssKib = process.resourceUsage().maxRSS;
  return { cpu: cpus()[0]?.model.trim() ?? '', cores: availableParallelism(), peak_rss_mib: Math.round(rssKib / 1024) };
}
