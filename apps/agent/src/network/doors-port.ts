import type { Cell } from '@platform/kit';
import type { ProvisioningView, Submission, SubmissionAnswer } from './provisioning-view.ts';

/** What the doors call in the agent. */
export interface DoorHandlers {
  /** A person did something: POST requests and RPC calls count, probes and GET requests do not. */
  active(): void;
  submit(submission: Submission): Promise<SubmissionAnswer>;
}

/** Where people enter what the device needs: captive portal, provisioning RPC, Bluetooth. */
export interface Doors {
  /**
   * Serves on the address of the hotspot until `signal` aborts. A child process that dies is started again.
   * `opened` is called when the ports accept connections.
   *
   * @throws Error if a port belongs to another program, which the error names
   */
  serve(
    of: { address: string; view: Cell<ProvisioningView>; handlers: DoorHandlers; opened: () => void },
    signal: AbortSignal,
  ): Promise<void>;
}
