import type { ConnectRouter } from '@connectrpc/connect';
import type { Clock, Log } from '@platform/kit';
import type { BlobStore } from '../blobs/store.ts';
import type { Database } from '../store/database.ts';
import type { Notifications } from '../store/notifications.ts';

/** What the RPC files may need; each takes the few things it names. */
export type Deps = {
  db: Database;
  blobs: BlobStore;
  notifications: Notifications;
  clock: Clock;
  log: Log;
  /** Ends held calls and streams when the server stops. */
  stop: AbortSignal;
  /** Base address of this server for links, without a slash at the end. */
  publicUrl: () => string;
};

/** Every RPC that this server offers. */
export const routes =
  (deps: Deps) =>
  (router: ConnectRouter): void => {
    void deps;
    void router;
  };
