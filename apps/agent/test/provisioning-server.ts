// The provisioning RPC as a program, on Node or Bun: serves on a free port of the loopback interface a device that
// has no credentials and sees three networks. Prints what reaches the agent, one JSON document a line. The network
// "refused" is refused.
import { createServer, type AddressInfo } from 'node:net';
import { Cell } from '@platform/kit';
import { onSignals, systemClock } from '@platform/kit/node';
import { GrpcServer } from '../src/endpoints/grpc-server.ts';
import { provisioningCalls } from '../src/endpoints/provisioning-rpc.ts';
import type { ProvisioningView } from '../src/network/endpoints/provisioning-view.ts';
import { provisioningView } from './provisioning-device.ts';

const print = (document: object): void => void process.stdout.write(`${JSON.stringify(document)}\n`);
const agent = {
  active: () => print({ active: true }),
  exit: () => print({ exit: true }),
  submit: (submission: { wifi?: { ssid: string } }) => {
    print({ submission });
    return Promise.resolve(
      submission.wifi?.ssid === 'refused'
        ? { ok: false as const, code: 'WIFI_REFUSED', text: 'The device cannot join this network.' }
        : { ok: true as const },
    );
  },
};
const stop = onSignals();
const rpc = new GrpcServer(
  provisioningCalls({ view: new Cell<ProvisioningView | undefined>(provisioningView), ...agent }, systemClock),
  systemClock,
);
const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
  socket.on('error', () => {}); // the client is gone
  rpc.take(socket);
});
server.listen(0, '127.0.0.1', () => print({ port: (server.address() as AddressInfo).port, pid: process.pid }));
await rpc.run(stop);
server.close();
