import path from 'node:path';
import { logSocketVersion } from '@platform/contract/machine-server/log-socket';
import { inMemory } from '@platform/kit/node';

/** Relative to the root: the lines that the machine server sends to the socket, one JSON object each. */
export const linesFile = 'log/platform-server.lines.log';

/**
 * Two named pipes through which agent and relay notice each other's end: each side holds the writing end of one, and
 * the kernel closes it with the process. An idle connection would do the same, but Bun runs a timer every second in a
 * process with an open socket; see docs/decisions/0044-presence-pipes.md.
 */
export interface PresencePipes {
  /** Written by agents. */
  agent: string;
  /** Written by the relay. */
  relay: string;
}

export interface RelayPlaces {
  stdout: string;
  stderr: string;
  socket: string;
  presence: PresencePipes;
}

/** The relay's folder contains four pipes and a socket. */
export const relayPlaces = (folder: string): RelayPlaces => ({
  stdout: path.join(folder, 'stdout'),
  stderr: path.join(folder, 'stderr'),
  socket: path.join(folder, 'lines.sock'),
  presence: { agent: path.join(folder, 'agent-alive'), relay: path.join(folder, 'relay-alive') },
});

/** In memory if possible: a full disk must not keep a machine server from starting. */
export const relayFolder = async (root: string): Promise<string> =>
  (await inMemory('output', root)) ?? path.join(root, 'state', 'output');

/** First line of an agent on the socket: it checks whether the relay answers. */
export const watchHello = JSON.stringify({ log_socket: logSocketVersion, watch: true });
