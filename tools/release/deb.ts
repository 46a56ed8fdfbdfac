import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ReleasePlatform } from '@platform/contract/releases/target-path';
import { plainEnvironment } from '../../packages/kit/src/node/environment.ts';

const root = path.resolve(import.meta.dirname, '..', '..');
const scripts = path.join(import.meta.dirname, 'debian');

/** A built agent. */
export interface DebOf {
  readonly file: string;
  readonly version: string;
  readonly platform: ReleasePlatform;
  /** The first root document that the agent trusts; undefined: that of the server that it reaches first. */
  readonly trustedRoot: string | undefined;
}

/** Why no package can be made. */
export class NoDeb extends Error {}

/** 1.4.0-rc.1+5 → 1.4.0~rc.1+5: Debian sorts a tilde before the end, as semantic versions sort their hyphen. */
const debianVersion = (version: string): string => version.replace('-', '~').replaceAll('-', '.');

const architectures: Partial<Record<ReleasePlatform, string>> = { 'linux/amd64': 'amd64', 'linux/arm64': 'arm64' };

const control = (of: { version: string; architecture: string; sizeKib: number }): string =>
  `Package: platform-agent
Version: ${of.version}
Architecture: ${of.architecture}
Maintainer: The Platform authors <platform@localhost>
Installed-Size: ${of.sizeKib}
Depends: libc6 (>= 2.17), systemd
Section: admin
Priority: optional
Description: agent that manages a machine of a Platform
 Keeps the machine server of this machine installed, running and up to date, as
 the management server desires. The package installs the agent once; from then
 on the agent updates itself.
`;

/**
 * Makes `platform-agent_<version>_<architecture>.deb` with dpkg-deb. The same agent gives the same bytes.
 *
 * @returns the file.
 * @throws NoDeb
 */
export function makeDeb({ file, version, platform, trustedRoot }: DebOf, out: string): string {
  const architecture = architectures[platform];
  if (architecture === undefined) throw new NoDeb(`There is no Debian package for ${platform}.`);
  mkdirSync(out, { recursive: true });
  const folder = mkdtempSync(path.join(out, '.deb-'));
  try {
    chmodSync(folder, 0o755);
    const put = (from: string, to: string, mode: number): void => {
      const target = path.join(folder, to);
      mkdirSync(path.dirname(target), { recursive: true, mode: 0o755 });
      copyFileSync(from, target);
      chmodSync(target, mode);
    };
    put(file, 'usr/lib/platform-agent/platform-agent', 0o755);
    if (trustedRoot !== undefined) put(trustedRoot, 'usr/lib/platform-agent/root.json', 0o644);
    put(path.join(root, 'LICENSE'), 'usr/share/doc/platform-agent/copyright', 0o644);
    for (const name of ['postinst', 'prerm', 'postrm']) put(path.join(scripts, name), `DEBIAN/${name}`, 0o755);
    const sizeKib = Number(run('du', ['-sk', '--apparent-size', folder]).split('\t')[0]);
    const debian = debianVersion(version);
    writeFileSync(path.join(folder, 'DEBIAN/control'), control({ version: debian, architecture, sizeKib }));
    const target = path.join(out, `platform-agent_${debian}_${architecture}.deb`);
    // gzip: xz takes a minute for these 115 MB, and its bytes depend on the number of processors.
    run('dpkg-deb', ['--root-owner-group', '-Zgzip', '--build', folder, target]);
    return target;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(command: string, args: readonly string[]): string {
  // Files of the package get this time: the same input gives the same bytes.
  const done = spawnSync(command, args, {
    encoding: 'utf8',
    env: plainEnvironment({ SOURCE_DATE_EPOCH: '946684800' }),
  });
  if (done.error && 'code' in done.error && done.error.code === 'ENOENT')
    throw new NoDeb(`The program ${command} is missing. Install it: apt install dpkg`);
  if (done.status !== 0) throw new Error(`${command} ended with ${done.status ?? done.signal}:\n${done.stderr}`);
  return done.stdout;
}
