import type { Cell } from '@platform/kit';
import type { ProvisioningView, Submission, SubmissionAnswer } from './provisioning-view.ts';

/** What the provisioning endpoints call in the agent. */
export interface EndpointHandlers {
  /** A user did something: POST requests and RPC calls count, probes and GET requests do not. */
  active(): void;
  /** A user ended provisioning without entering anything. */
  exit(): void;
  submit(submission: Submission): Promise<SubmissionAnswer>;
}

/** Where users enter what the device needs: captive portal, provisioning RPC, Bluetooth. */
export interface ProvisioningEndpoints {
  /**
   * Serves on the address of the hotspot until `signal` aborts. A child process that dies is started again.
   * `opened` is called when the ports accept connections.
   *
   * @throws Error if a port belongs to another program, which the error names
   */
  serve(
    of: { address: string; view: Cell<ProvisioningView>; handlers: EndpointHandlers; opened: () => void },
    signal: AbortSignal,
  ): Promise<void>;
}
