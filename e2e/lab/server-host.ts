// A container that a management server is installed in, reachable by other machines of the lab over TLS and by name.
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { type ProcessGroup, spawnGroup } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { labCertificate } from './authority.ts';
import { container, eventually, type LabMachine } from './machine.ts';

export interface ServerHost extends AsyncDisposable {
  readonly machine: LabMachine;
  /** Leads to port 443 of the container, for `container()`. */
  readonly port: number;
  /** Starts the container again after `machine.kill`. */
  up(): Promise<void>;
}

/** A fresh container with a certificate for the lab's name in /root/cert.pem and /root/key.pem. */
export async function startServerHost(): Promise<ServerHost> {
  const files = await tempFolder();
  const machine = await container(await freePort());
  const { cert, key } = labCertificate();
  await writeFile(files.file('cert.pem'), cert);
  await writeFile(files.file('key.pem'), key, { mode: 0o600 });
  await machine.push('/root', files.file('cert.pem'), files.file('key.pem'));
  const port = await freePort();
  let relays = await relay(machine, port, files.file('relay'));
  const stop = async (): Promise<void> => void (await Promise.all(relays.map((one) => one.stop({ termMs: 2_000 }))));
  return {
    machine,
    port,
    async up() {
      await stop();
      await machine.up();
      relays = await relay(machine, port, files.file('relay-2'));
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await machine[Symbol.asyncDispose]();
      await files[Symbol.asyncDispose]();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** From a port of this host, through the container's network, to its port 443. */
async function relay(machine: LabMachine, port: number, socket: string): Promise<ProcessGroup[]> {
  const address = await eventually('an address of the container', 60, async () => {
    const { stdout } = await machine.exec(`ip -4 -o addr show eth0 | sed -n 's/.*inet \\([0-9.]*\\).*/\\1/p'`);
    return stdout.trim() || undefined;
  });
  const inner = `netns exec ct-${machine.name}-lan socat UNIX-LISTEN:${socket},fork TCP:${address}:443`;
  return [
    await spawnGroup({ command: 'ip', args: inner.split(' '), logFile: `${socket}-inner.log` }),
    await spawnGroup({
      command: 'socat',
      args: [`TCP-LISTEN:${port},fork,reuseaddr,bind=127.0.0.1`, `UNIX-CONNECT:${socket}`],
      logFile: `${socket}-outer.log`,
    }),
  ];
}
