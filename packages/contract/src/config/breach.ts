/** A broken rule: the invalid key, the requirement and the remedy. */
export interface Breach {
  readonly key: string;
  readonly message: string;
  readonly remedy: string;
  readonly isError: boolean;
}
