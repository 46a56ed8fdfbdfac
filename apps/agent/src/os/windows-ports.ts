// What only Windows has.

/** A call of Windows that failed. */
export class WindowsError extends Error {
  /** Windows' number of what went wrong. */
  readonly number: number;

  constructor(call: string, number: number) {
    super(`${call} failed with error ${number}`);
    this.name = 'WindowsError';
    this.number = number;
  }
}

/** Processes that end together: at the latest when the last handle to the job is closed, so with this process. */
export interface Job {
  add(pid: number): Promise<void>;
  /** Ends all of them at once. */
  end(): void;
}

export type ServiceState = 'absent' | 'stopped' | 'starting' | 'stopping' | 'running';

/** An entry of Windows' service manager. */
export interface WindowsService {
  state(): Promise<ServiceState>;
  /** Makes the entry, or changes the one that is there. */
  install(of: { displayName: string; description: string; commandLine: string; restartMs: number }): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  remove(): Promise<void>;
}

/** What the service manager wants of this process, which it started. */
export interface StartedService {
  /** Aborts when it is to stop. */
  readonly stopped: AbortSignal;
  tell(state: 'starting' | 'running' | 'stopping' | 'stopped', waitMs?: number): void;
}
