// nginx and Caddy with the documented configuration files. Only ports and paths are replaced.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { type ProcessGroup, spawnGroup } from '@platform/kit/node';
import type { TempFolder } from '@platform/kit/testing';
import { blocksOf } from './page-blocks.ts';
import { checkout } from './up-process.ts';

/** The name in the documented files. */
export const proxyHost = 'platform.example.com';

interface Ports {
  readonly front: number;
  readonly cloud: number;
  /** Of Caddy's own commands. */
  readonly admin: number;
}
type Command = { command: string; args: string[] };
interface Commands {
  readonly run: Command;
  /** What `systemctl reload` runs. */
  readonly reload: Command;
}

/** The file of a proxy, from docs/operations/proxies.md. */
export async function documentedConfig(file: '/etc/nginx/conf.d/platform.conf' | '/etc/caddy/Caddyfile') {
  const page = await readFile(path.join(checkout, 'docs', 'operations', 'proxies.md'), 'utf8');
  const block = blocksOf('proxies.md', page).find(({ use }) => use.kind === 'file' && use.path === file);
  if (!block) throw new Error(`docs/operations/proxies.md has no ${file}`);
  return block.text;
}

async function configOf(
  folder: TempFolder,
  file: Parameters<typeof documentedConfig>[0],
  { front, cloud }: Ports,
): Promise<string> {
  const text = await documentedConfig(file);
  return text
    .replace('listen 443', `listen 127.0.0.1:${front}`)
    .replace(`${proxyHost}:443`, `${proxyHost}:${front}`)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${cloud}`)
    .replaceAll('/etc/ssl/platform', folder.path);
}

async function nginx(folder: TempFolder, ports: Ports): Promise<Commands> {
  const http = await configOf(folder, '/etc/nginx/conf.d/platform.conf', ports);
  await mkdir(folder.file('tmp'), { mode: 0o777 });
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (one) => `${one}_temp_path ${folder.file('tmp')}/${one};`,
  );
  const outer = `daemon off; pid ${folder.file('pid')}; error_log stderr; events {}\nhttp { access_log off; ${places.join(' ')}\n${http}\n}\n`;
  await writeFile(folder.file('nginx.conf'), outer);
  const args = ['-p', folder.path, '-c', folder.file('nginx.conf')];
  return { run: { command: 'nginx', args }, reload: { command: 'nginx', args: [...args, '-s', 'reload'] } };
}

async function caddy(folder: TempFolder, ports: Ports): Promise<Commands> {
  const options = `\tauto_https disable_redirects\n\tadmin 127.0.0.1:${ports.admin}\n`;
  const config = (await configOf(folder, '/etc/caddy/Caddyfile', ports)).replace(/^\{\n/m, `{\n${options}`);
  await writeFile(folder.file('Caddyfile'), config);
  const args = ['--adapter', 'caddyfile', '--config', folder.file('Caddyfile')];
  const reload = ['reload', ...args, '--force', '--address', `127.0.0.1:${ports.admin}`];
  return { run: { command: 'caddy', args: ['run', ...args] }, reload: { command: 'caddy', args: reload } };
}

export type ProxyName = 'nginx' | 'caddy';
const proxies: Record<ProxyName, (folder: TempFolder, ports: Ports) => Promise<Commands>> = { nginx, caddy };

/** A free port of the loopback. */
export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** The memory of all its processes, in MiB. */
  residentMib(): number;
  /** Reads certificates and configuration again, as `systemctl reload` does. */
  reload(): Promise<void>;
  /** Ends it, waits, and starts it again on the same port, as `systemctl restart` does. */
  restart(): Promise<void>;
  log(): Promise<string>;
}

const stopMs = 5_000; // TimeoutStopSec of both Debian units

/** Starts a proxy in front of a server on loopback. `folder` holds cert.pem and key.pem. */
export async function startProxy(name: ProxyName, folder: TempFolder, cloud: number): Promise<Proxy> {
  const ports = { front: await freePort(), cloud, admin: await freePort() };
  const logFile = folder.file('proxy.log');
  const env = { PATH: process.env['PATH'], HOME: folder.path };
  const { run, reload } = await proxies[name](folder, ports);
  const start = (): Promise<ProcessGroup> => spawnGroup({ ...run, env, logFile });
  const running = { group: await start() };
  const stop = () => running.group.stop({ termMs: stopMs });
  return {
    port: ports.front,
    residentMib: () => residentMib(running.group.pid),
    async reload() {
      await promisify(execFile)(reload.command, reload.args, { env });
    },
    async restart() {
      await stop();
      running.group = await start();
    },
    log: () => readFile(logFile, 'utf8').catch(() => ''),
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

/** Sums the memory of a process group. */
function residentMib(group: number): number {
  const processes = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  const kib = processes.map((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      if (stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2] !== String(group)) return 0;
      return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
    } catch {
      return 0; // it ended
    }
  });
  return kib.reduce((sum, one) => sum + one, 0) / 1024;
}
