import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { atomicWrite, readJson } from '@platform/kit/node';
import { isLoopback, openPort, type Port, type PortOptions } from './mux.ts';
import type { Listener } from './request.ts';

/** The server's ports and its URLs. */
export type Ports = {
  port: number;
  /** URL for users and machines if no public URL is set. */
  url: string;
  /** The same server on loopback without TLS, for programs of this host. */
  localUrl: string;
  /** For machines of this host: all URLs that they get begin with it. */
  insideUrl: string;
  /** Uses another certificate for new connections. */
  renew: Port['renew'];
  close(limitMs: number): Promise<void>;
};

type Wanted = {
  listener: Listener;
  options: PortOptions;
  /** @param port - the number of the main port. */
  publicUrlOf: (port: number) => string | undefined;
  dataFolder: string;
};

/**
 * Opens the main port and, on loopback, the ports that the server's own processes need. One serves a main port that is
 * not on loopback. The other serves machines of this host if there is a public URL: its name and certificate may not
 * work here.
 *
 * @throws PlatformError PORT_IN_USE, INVALID_ARGUMENT
 */
export async function openPorts({ listener, options, publicUrlOf, dataFolder }: Wanted): Promise<Ports> {
  const opened: Port[] = [];
  const close = async (limitMs: number): Promise<void> =>
    void (await Promise.all(opened.map((port) => port.close(limitMs))));
  const open = async (of: PortOptions): Promise<Port> => {
    const port = await openPort(listener, of);
    opened.push(port);
    return port;
  };
  try {
    const main = await open(options);
    const isEverywhere = main.address === '0.0.0.0' || main.address === '::';
    const { tls: _, entrance: __, ...plain } = options;
    const onLoopback = { ...plain, host: '127.0.0.1', allowPlaintext: false };
    const local = isEverywhere || isLoopback(main.address) ? main : await open({ ...onLoopback, port: main.port });
    const localUrl = urlOf(isEverywhere ? '127.0.0.1' : local.address, main.port);
    const publicUrl = publicUrlOf(main.port);
    const inside = publicUrl === undefined ? undefined : await openInside(open, onLoopback, dataFolder);
    return {
      port: main.port,
      url: publicUrl ?? localUrl,
      localUrl,
      insideUrl: inside ? urlOf(inside.address, inside.port) : localUrl,
      renew: (pair) => main.renew(pair),
      close,
    };
  } catch (error) {
    await close(0);
    throw error;
  }
}

const urlOf = (address: string, port: number): string =>
  `http://${address.includes(':') ? `[${address}]` : address}:${port}`;

/** Reuses the port of the previous start if it is free, because machines of this host have stored it. */
async function openInside(
  open: (options: PortOptions) => Promise<Port>,
  options: PortOptions,
  dataFolder: string,
): Promise<Port> {
  const file = path.join(dataFolder, 'inside-port.json');
  const before = (await readJson(file).catch(() => undefined)) as { port?: unknown } | undefined;
  const known = typeof before?.port === 'number' ? before.port : 0;
  const port = await open({ ...options, port: known }).catch((error: unknown) => {
    if (known === 0 || !(error instanceof PlatformError)) throw error;
    return open({ ...options, port: 0 });
  });
  if (port.port !== known) await atomicWrite(file, `${JSON.stringify({ port: port.port })}\n`, { mode: 0o600 });
  return port;
}
