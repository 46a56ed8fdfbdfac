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
  /** Status of plain HTTP routes where the usual one of `rpc` says something else. */
  readonly http?: number;
  /** May the same call be made again: never (it will fail again), later (with back-off), now (once, at once). */
  readonly retry: 'never' | 'later' | 'now';
  /** What happened; `{name}` is filled from the error's data, `[…]` is left out when its data is missing. */
  readonly message: string;
  /** What to do about it, whole sentences. */
  readonly remedy: string;
}
