import { Cell } from '@platform/kit';

export interface CredentialsProblem {
  /** For users; empty: none. */
  text: string;
  /** Nothing helps but other credentials. */
  isFinal: boolean;
}

export const noProblem = () => new Cell<CredentialsProblem>({ text: '', isFinal: false });
