// Ports that only Windows has.

/** A call of the Windows API that failed. */
export class WindowsError extends Error {
  /** The error code of Windows. */
  readonly number: number;

  constructor(call: string, number: number) {
    super(`${call} failed with error ${number}`);
    this.name = 'WindowsError';
    this.number = number;
  }
}

/** Processes in a job object: they end when the last handle to it is closed, at the latest with this process. */
export interface Job {
  add(pid: number): Promise<void>;
  /** Ends all of them at once. */
  end(): void;
}

export type ServiceState = 'absent' | 'stopped' | 'starting' | 'stopping' | 'running';

export interface ServiceSettings {
  displayName: string;
  description: string;
  commandLine: string;
  /** Pause before the service manager restarts a failed service. */
  restartMs: number;
}

/** A service of Windows' service manager. */
export interface WindowsService {
  state(): Promise<ServiceState>;
  /** Creates the service, or updates an existing one. */
  install(settings: ServiceSettings): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  remove(): Promise<void>;
}

/** An entry of the event log. */
export interface WindowsEvent {
  type: 'info' | 'warning' | 'error';
  /** 1 to 1000: the message file that is registered has these. */
  id: number;
  text: string;
}

/** The connection of this process to the service manager that started it. */
export interface StartedService {
  /** Aborts when the service manager requests a stop. */
  readonly stopped: AbortSignal;
  tell(state: 'starting' | 'running' | 'stopping' | 'stopped', waitMs?: number): void;
}
