import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus } from 'node:os';
import sharp from 'sharp';

const require = createRequire(import.meta.url);

function versionIn(file: string): string {
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: string };
  return version ?? 'unknown';
}

/** Versions of everything that can change the result. */
export function versions(): Record<string, string> {
  return {
    trainer: versionIn(new URL('../package.json', import.meta.url).pathname),
    node: process.versions.node,
    onnxruntime: versionIn(require.resolve('onnxruntime-node/package.json')),
    sharp: sharp.versions.sharp ?? 'unknown',
  };
}
export function machine(): { cpu: string; cores: number; peak_rss_mib: number } {
  return {
    cpu: cpus()[0]?.model.trim() ?? '',
    cores: availableParallelism(),
    peak_rss_mib: Math.round(peakKib() / 1024),
  };
}

/** On Linux `maxRSS` includes the memory of the parent process before exec; VmHWM covers this program only. */
function peakKib(): number {
  try {
    const [, own] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    if (own !== undefined) return Number(own);
  } catch {
    // not Linux
  }
  return process.resourceUsage().maxRSS;
}
