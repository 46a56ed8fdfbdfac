// nginx and Caddy with the documented configuration files. Only ports and paths are replaced.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { type ProcessGroup, spawnGroup } from '@platform/kit/node';
import type { TempFolder } from '@platform/kit/testing';
import { checkout } from './up-process.ts';

/** The name in the documented files. */
export const proxyHost = 'platform.example.com';
const files = path.join(checkout, 'docs', 'examples', 'proxies');

interface Ports {
  readonly front: number;
  readonly cloud: number;
}
type Command = { command: string; args: string[] };

export const documentedConfig = (name: string): Promise<string> => readFile(path.join(files, name), 'utf8');

async function configOf(folder: TempFolder, name: string, { front, cloud }: Ports): Promise<string> {
  const text = await documentedConfig(name);
  return text
    .replace('listen 443', `listen 127.0.0.1:${front}`)
    .replace(`${proxyHost}:443`, `${proxyHost}:${front}`)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${cloud}`)
    .replaceAll('/etc/ssl/platform', folder.path);
}

async function nginx(folder: TempFolder, ports: Ports): Promise<Command> {
  const http = await configOf(folder, 'nginx.conf', ports);
  await mkdir(folder.file('tmp'), { mode: 0o777 });
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (one) => `${one}_temp_path ${folder.file('tmp')}/${one};`,
  );
  const outer = `daemon off; pid ${folder.file('pid')}; error_log stderr; events {}\nhttp { access_log off; ${places.join(' ')}\n${http}\n}\n`;
  await writeFile(folder.file('nginx.conf'), outer);
  return { command: 'nginx', args: ['-p', folder.path, '-c', folder.file('nginx.conf')] };
}

async function caddy(folder: TempFolder, ports: Ports): Promise<Command> {
  const options = '{\n\tadmin off\n\tauto_https disable_redirects\n}\n';
  await writeFile(folder.file('Caddyfile'), `${options}${await configOf(folder, 'Caddyfile', ports)}`);
  return { command: 'caddy', args: ['run', '--adapter', 'caddyfile', '--config', folder.file('Caddyfile')] };
}

const proxies = { nginx, caddy };

/** A free port of the loopback. */
export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export interface Proxy {
  readonly port: number;
  readonly group: ProcessGroup;
  log(): Promise<string>;
}

/** Starts a proxy in front of a server on loopback. `folder` holds cert.pem and key.pem. */
export async function startProxy(name: keyof typeof proxies, folder: TempFolder, cloud: number): Promise<Proxy> {
  const port = await freePort();
  const logFile = folder.file('proxy.log');
  const group = await spawnGroup({
    ...(await proxies[name](folder, { front: port, cloud })),
    env: { PATH: process.env['PATH'], HOME: folder.path },
    logFile,
  });
  return { port, group, log: () => readFile(logFile, 'utf8').catch(() => '') };
}
