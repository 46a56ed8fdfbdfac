// The public SDK as its users take it: unmodified, with its default transport or with the documented one for gRPC.
import { createGrpcTransport, type GrpcTransportOptions, Http2SessionManager } from '@connectrpc/connect-node';
import { createViamClient } from '@viamrobotics/sdk';

export type PublicClient = Awaited<ReturnType<typeof createViamClient>>;

export interface Protocol {
  readonly name: string;
  /** A connected client; throws what the SDK throws when the key is refused. */
  connect(url: string, keyId: string, key: string): Promise<PublicClient>;
  close(): void;
}

const dial = (serviceHost: string, authEntity: string, payload: string): Promise<PublicClient> =>
  createViamClient({ serviceHost, credentials: { type: 'api-key', authEntity, payload } });

/** Where the SDK looks for another transport when it dials. */
const place = globalThis as {
  VIAM?: { GRPC_TRANSPORT_FACTORY: (options: { baseUrl: string }) => ReturnType<typeof createGrpcTransport> };
};

export const grpcWeb: Protocol = { name: 'gRPC-Web', connect: dial, close: () => undefined };

export function grpc(): Protocol {
  const sessions: Http2SessionManager[] = [];
  return {
    name: 'gRPC',
    async connect(url, keyId, key) {
      place.VIAM = {
        GRPC_TRANSPORT_FACTORY: (options) => {
          const sessionManager = new Http2SessionManager(options.baseUrl);
          sessions.push(sessionManager);
          const all: GrpcTransportOptions = { httpVersion: '2', sessionManager, ...options };
          return createGrpcTransport(all);
        },
      };
      try {
        return await dial(url, keyId, key);
      } finally {
        delete place.VIAM;
      }
    },
    close: () => sessions.forEach((session) => session.abort()),
  };
}
