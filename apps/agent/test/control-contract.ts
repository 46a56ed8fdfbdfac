// What every adapter of the control channel keeps: a table that runs against a Unix socket here, and against a named
// pipe in Wine (control-contract-windows.ts).
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import type { AgentStatus } from '@platform/contract/machine/agent-status';
import { createLog } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { controlAddress } from '../src/control/address.ts';
import { controlOf, NoAgentRuns } from '../src/control/client.ts';
import { controlLimits, listen } from '../src/control/listen.ts';
import type { Controlled } from '../src/control/requests.ts';
import type { OpenControl } from '../src/os/ports.ts';

export interface Rig {
  root: string;
  open: OpenControl;
}
interface Serving {
  root: string;
  address: string;
  /** Requests of operators so far. */
  asked: string[];
  end(): Promise<void>;
}

async function serve({ root, open }: Rig): Promise<Serving> {
  const asked: string[] = [];
  const done = (what: string) => async () => (asked.push(what), { isChanged: true, did: what });
  const controlled: Controlled = {
    status: () => ({ is_running: true, agent: { pid: process.pid } }) as AgentStatus,
    operator: () => ({
      checkNow: done('update'),
      rollback: done('rollback'),
      clearQuarantine: done('clear'),
      pin: done('pin'),
    }),
    reloadCredentials: async () => false,
    provision: () => false,
    handOver: () => false,
  };
  const end = new AbortController();
  const log = createLog({ name: 'control', clock: systemClock, level: 'error', sink: () => {} });
  const opened = Promise.withResolvers<void>();
  const announced: OpenControl = async (listenOn) => {
    const close = await open(listenOn);
    opened.resolve();
    return close;
  };
  const serving = listen(announced, controlled, { clock: systemClock, log }, end.signal);
  await Promise.race([opened.promise, serving]);
  return {
    root,
    address: await controlAddress(root),
    asked,
    end: async () => {
      end.abort();
      await serving;
    },
  };
}

/** Sends bytes and waits until the connection is closed: by the peer, or by us with `end`. (A pipe has no half.) */
function send(address: string, bytes: string | Buffer, how: 'write' | 'end'): Promise<string> {
  return new Promise((resolve) => {
    let heard = '';
    const socket = connect(address, () => void socket[how](bytes));
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('utf8')));
    socket.on('error', () => {});
    socket.on('close', () => resolve(heard));
  });
}

const answers = async ({ root }: Serving): Promise<void> =>
  assert.equal((await controlOf(root, systemClock).status()).agent.pid, process.pid);

const served: Readonly<Record<string, (serving: Serving) => Promise<void>>> = {
  'answers requests, one after the other and at once': async (serving) => {
    const control = controlOf(serving.root, systemClock);
    for (let i = 0; i < 3; i++) await answers(serving);
    await Promise.all(Array.from({ length: 8 }, () => answers(serving)));
    assert.deepEqual(await control.post('/rollback', { program: 'agent' }), { is_changed: true, did: 'rollback' });
    assert.deepEqual(await control.post('/clear', { program: 'server' }), { is_changed: true, did: 'clear' });
    assert.deepEqual(serving.asked, ['rollback', 'clear']);
  },
  'passes a refusal with its code': async ({ root }) => {
    await assert.rejects(controlOf(root, systemClock).post('/rollback', { program: 'vi' }), {
      code: 'INVALID_ARGUMENT',
      message: /agent or server/,
    });
  },
  'outlives garbage': async (serving) => {
    for (const bytes of [
      Buffer.alloc(100_000, 0xff),
      'GET /status',
      '\r\n\r\n\r\n',
      `GET /${'x'.repeat(9000)} HTTP/1.1`,
    ])
      await send(serving.address, bytes, 'end');
    const refused = await send(serving.address, 'GET /x HTTP/1.1\r\nhost: x\r\n\r\n', 'write');
    assert.match(refused, /^HTTP\/1\.1 400 .*INVALID_ARGUMENT/s);
    await answers(serving);
  },
  'keeps a few idle connections, and closes the others': async (serving) => {
    const sockets: Socket[] = [];
    const closed: Promise<unknown>[] = [];
    const over = Promise.withResolvers<void>();
    let left = 10;
    for (let i = 0; i < controlLimits.connections + 10; i++) {
      const socket = connect(serving.address);
      socket.on('error', () => {});
      socket.resume();
      closed.push(
        new Promise((resolve) =>
          socket.on('close', () => {
            if (--left === 0) over.resolve();
            resolve(undefined);
          }),
        ),
      );
      sockets.push(socket);
    }
    await over.promise; // those over the limit; the others time out later
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
    await answers(serving);
  },
};

/** Runs the table; `run` reports one case. */
export async function controlContract(
  rig: Rig,
  run: (name: string, work: () => Promise<void>) => Promise<unknown>,
): Promise<void> {
  for (const [name, work] of Object.entries(served)) {
    await run(name, async () => {
      const serving = await serve(rig);
      await work(serving);
      await serving.end();
    });
  }
  await run('none answers before it is there and after its end; the next one answers', async () => {
    const ask = () => controlOf(rig.root, systemClock).status();
    await assert.rejects(ask, NoAgentRuns);
    await (await serve(rig)).end();
    await assert.rejects(ask, NoAgentRuns);
    const next = await serve(rig);
    await answers(next);
    await next.end();
  });
  await run('what a dead agent left does not matter', async () => {
    const dead = await serve(rig);
    const alive = await serve(rig);
    await answers(alive);
    await alive.end();
    await dead.end();
  });
}
