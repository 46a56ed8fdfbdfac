import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { isSignedBy, signatureOf, sumsOf } from '@platform/releases/archive-signature';
import type { ServerPlatform } from '../server/stage.ts';
import { archiveName } from './contents.ts';
import { sha256OfFile } from './sums.ts';

/** Unpacks the archive beside it, for its size. @returns the problems, each with the name of the file. */
export function checkArchive(folder: string, version: string, platform: ServerPlatform, publicPem: string): string[] {
  const file = archiveName(version, platform);
  const at = path.join(folder, file);
  const sums = readFileSync(sumsOf(at));
  if (!isSignedBy(sums, readFileSync(signatureOf(at)), publicPem)) return [`${file}.sha256 is not signed by this key`];
  if (sums.toString('utf8') !== `${sha256OfFile(at)}  ${file}\n`) return [`${file}.sha256 is of another file`];
  const work = mkdtempSync(path.join(path.dirname(folder), '.check-'));
  try {
    const unpacked = spawnSync('tar', ['-xzf', at, '-C', work], { encoding: 'utf8' });
    if (unpacked.status !== 0) return [`${file} cannot be unpacked: ${unpacked.stderr.slice(0, 200)}`];
    const inside = path.join(work, file.replace(/\.tar\.gz$/, ''));
    return contentProblems(inside, at, { version, platform }).map((problem) => `${file}: ${problem}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function contentProblems(inside: string, at: string, of: { version: string; platform: ServerPlatform }): string[] {
  const problems: string[] = [];
  const release = JSON.parse(readFileSync(path.join(inside, 'release.json'), 'utf8')) as Record<string, unknown>;
  if (release['version'] !== of.version || release['platform'] !== of.platform)
    problems.push(`release.json says ${String(release['version'])} for ${String(release['platform'])}`);
  const sbom = readFileSync(path.join(inside, 'sbom.cdx.json'), 'utf8');
  if (sbom !== readFileSync(`${at}.sbom.cdx.json`, 'utf8')) problems.push('the SBOM beside it is another one');
  const { components } = JSON.parse(sbom) as { components: readonly { name: string; purl?: string }[] };
  const urls = new Set(components.map(({ purl = '' }) => decodeURIComponent(purl)));
  for (const name of packagesIn(path.join(inside)))
    if (!urls.has(`pkg:npm/${name}`)) problems.push(`its SBOM lacks ${name}`);
  if (of.platform === `linux-${process.arch}`) {
    const printed = spawnSync(path.join(inside, 'platform'), ['--version'], {
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin' },
    });
    if (!printed.stdout.includes(of.version))
      problems.push(`platform --version prints "${printed.stdout.trim().slice(0, 80)}"`);
  }
  return problems;
}

/** name@version of the npm packages below a folder; links to workspaces are none. */
function packagesIn(folder: string): string[] {
  const manifest = /(^|\/)node_modules\/(@[^/]+\/)?[^/@.][^/]*\/package\.json$/;
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => manifest.test(file))
    .map((file) => JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as { name: string; version: string })
    .filter(({ name }) => !name.startsWith('@platform/'))
    .map(({ name, version }) => `${name}@${version}`);
}
