/** Lower-case names of the gRPC status codes. */
export type RpcCode =
  | 'canceled'
  | 'unknown'
  | 'invalid_argument'
  | 'deadline_exceeded'
  | 'not_found'
  | 'already_exists'
  | 'permission_denied'
  | 'resource_exhausted'
  | 'failed_precondition'
  | 'aborted'
  | 'out_of_range'
  | 'unimplemented'
  | 'internal'
  | 'unavailable'
  | 'data_loss'
  | 'unauthenticated';

export interface ErrorRow {
  readonly rpc: RpcCode;
  /** HTTP status of plain HTTP routes if the default for `rpc` does not fit. */
  readonly http?: number;
  /** Retry of the same call: never (it fails again), later (with backoff), now (once, at once). */
  readonly retry: 'never' | 'later' | 'now';
  /** What happened. `{name}` is replaced from the error's data; `[…]` is omitted if its data is missing. */
  readonly message: string;
  /** What to do, as whole sentences. */
  readonly remedy: string;
}
