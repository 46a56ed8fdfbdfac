// The public SDK as its users run it: unmodified, with its default transport or with the documented one for gRPC.
import { createGrpcTransport, type GrpcTransportOptions, Http2SessionManager } from '@connectrpc/connect-node';
import { createViamClient } from '@viamrobotics/sdk';

export type PublicClient = Awaited<ReturnType<typeof createViamClient>>;

export interface Protocol {
  readonly name: string;
  /** Returns a connected client; throws the SDK's error if the server refuses the key. */
  connect(url: string, keyId: string, key: string): Promise<PublicClient>;
  close(): void;
}

const dial = (serviceHost: string, authEntity: string, payload: string): Promise<PublicClient> =>
  createViamClient({ serviceHost, credentials: { type: 'api-key', authEntity, payload } });

/** The global from which the SDK reads a custom transport when it connects. */
const place = globalThis as {
  VIAM?: { GRPC_TRANSPORT_FACTORY: (options: { baseUrl: string }) => ReturnType<typeof createGrpcTransport> };
};

export const grpcWeb: Protocol = { name: 'gRPC-Web', connect: dial, close: () => undefined };

/** Dials with the documented transport for gRPC. */
function overGrpc(): { dialing<T>(dialed: () => Promise<T>): Promise<T>; close(): void } {
  const sessions: Http2SessionManager[] = [];
  return {
    async dialing(dialed) {
      place.VIAM = {
        GRPC_TRANSPORT_FACTORY: (options) => {
          const sessionManager = new Http2SessionManager(options.baseUrl);
          sessions.push(sessionManager);
          const all: GrpcTransportOptions = { httpVersion: '2', sessionManager, ...options };
          return createGrpcTransport(all);
        },
      };
      try {
        return await dialed();
      } finally {
        delete place.VIAM;
      }
    },
    close: () => sessions.forEach((session) => session.abort()),
  };
}

export function grpc(): Protocol {
  const { dialing, close } = overGrpc();
  return { name: 'gRPC', connect: (...to) => dialing(() => dial(...to)), close };
}

/** Connects over gRPC without authentication: with an access token the SDK calls nothing before it is used. */
export async function dialUnauthenticated(serviceHost: string): Promise<{ client: PublicClient; close(): void }> {
  const { dialing, close } = overGrpc();
  const credentials = { type: 'access-token' as const, payload: 'none' };
  return { client: await dialing(() => createViamClient({ serviceHost, credentials })), close };
}
