// Services, jobs and files: functions of Windows, which exist in the compiled program only. Addresses and lengths that
// are passed always belong to arrays allocated here. Arrays that Windows keeps stay referenced here.
import { Worker } from 'node:worker_threads';
import {
  WindowsError,
  type Job,
  type ServiceSettings,
  type ServiceState,
  type StartedService,
  type WindowsService,
} from '../windows-ports.ts';
import { mustBy, none, wide, type Must } from './win32-calls.ts';

const kernelCalls = {
  CreateJobObjectW: { args: ['u64', 'u64'], returns: 'u64' },
  SetInformationJobObject: { args: ['u64', 'i32', 'ptr', 'u32'], returns: 'i32' },
  AssignProcessToJobObject: { args: ['u64', 'u64'], returns: 'i32' },
  TerminateJobObject: { args: ['u64', 'u32'], returns: 'i32' },
  OpenProcess: { args: ['u32', 'i32', 'u32'], returns: 'u64' },
  CloseHandle: { args: ['u64'], returns: 'i32' },
  GetLastError: { args: [], returns: 'u32' },
  MoveFileExW: { args: ['ptr', 'u64', 'u32'], returns: 'i32' },
} as const;

const serviceCalls = {
  OpenSCManagerW: { args: ['u64', 'u64', 'u32'], returns: 'u64' },
  OpenServiceW: { args: ['u64', 'ptr', 'u32'], returns: 'u64' },
  CreateServiceW: {
    args: ['u64', 'ptr', 'ptr', 'u32', 'u32', 'u32', 'u32', 'ptr', 'u64', 'u64', 'u64', 'u64', 'u64'],
    returns: 'u64',
  },
  ChangeServiceConfigW: {
    args: ['u64', 'u32', 'u32', 'u32', 'ptr', 'u64', 'u64', 'u64', 'u64', 'u64', 'u64'],
    returns: 'i32',
  },
  ChangeServiceConfig2W: { args: ['u64', 'u32', 'ptr'], returns: 'i32' },
  StartServiceW: { args: ['u64', 'u32', 'u64'], returns: 'i32' },
  ControlService: { args: ['u64', 'u32', 'ptr'], returns: 'i32' },
  QueryServiceStatus: { args: ['u64', 'ptr'], returns: 'i32' },
  DeleteService: { args: ['u64'], returns: 'i32' },
  CloseServiceHandle: { args: ['u64'], returns: 'i32' },
  RegisterServiceCtrlHandlerW: { args: ['ptr', 'u64'], returns: 'u64' },
  SetServiceStatus: { args: ['u64', 'ptr'], returns: 'i32' },
} as const;

const killOnClose = 0x2000;
const extendedLimits = 9;
const setQuotaAndTerminate = 0x101;

export async function createJob(): Promise<Job> {
  const { dlopen, ptr } = await import('bun:ffi');
  const { symbols: k } = dlopen('kernel32.dll', kernelCalls);
  const must = mustBy(() => k.GetLastError());
  const job = must('CreateJobObjectW', k.CreateJobObjectW(none, none));
  const limits = Buffer.alloc(144); // JOBOBJECT_EXTENDED_LIMIT_INFORMATION
  limits.writeUInt32LE(killOnClose, 16);
  must('SetInformationJobObject', k.SetInformationJobObject(job, extendedLimits, ptr(limits), limits.length));
  return {
    async add(pid) {
      const handle = must('OpenProcess', k.OpenProcess(setQuotaAndTerminate, 0, pid));
      try {
        must('AssignProcessToJobObject', k.AssignProcessToJobObject(job, handle));
      } finally {
        k.CloseHandle(handle);
      }
    },
    end: () => void k.TerminateJobObject(job, 1),
  };
}

const delayUntilReboot = 4;

/** Removes a file, which may be a running program, at the next boot of Windows. @throws WindowsError */
export async function removeAtBoot(file: string): Promise<void> {
  const { dlopen, ptr } = await import('bun:ffi');
  const { symbols: k } = dlopen('kernel32.dll', kernelCalls);
  const name = wide(file);
  mustBy(() => k.GetLastError())('MoveFileExW', k.MoveFileExW(ptr(name), none, delayUntilReboot));
}

const states: Readonly<Record<number, ServiceState>> = { 1: 'stopped', 2: 'starting', 3: 'stopping', 4: 'running' };
const stateNumbers = { stopped: 1, starting: 2, stopping: 3, running: 4 } as const;

const allAccess = 0xf01ff;
const managerAccess = 0xf003f;
const ownProcess = 0x10;
const automatic = 2;
const normalErrors = 1;
const noChange = 0xffffffff;
const noSuchService = 1060;
const controlStop = 1;
const settingDescription = 1;
const settingFailureActions = 2;
const settingFailureFlag = 4;
const actionRestart = 1;

/** The functions of Windows for services, as this runtime calls them. */
interface ServiceApi {
  a: Readonly<Record<keyof typeof serviceCalls, (...args: readonly (number | bigint)[]) => number | bigint>>;
  /** Address of the first byte; valid as long as the array is referenced. */
  ptr: (bytes: Uint8Array) => number;
  must: Must;
  lastError: () => number;
}

async function openServiceApi(): Promise<ServiceApi> {
  const { dlopen, ptr } = await import('bun:ffi');
  const { symbols: a } = dlopen('advapi32.dll', serviceCalls);
  const { symbols: k } = dlopen('kernel32.dll', kernelCalls);
  const lastError = () => Number(k.GetLastError());
  return { a, ptr, must: mustBy(lastError), lastError };
}

export async function windowsService(name: string): Promise<WindowsService> {
  const api = await openServiceApi();
  const { a, ptr, must } = api;
  const wideName = wide(name);
  const withThis = <T>(f: (service: bigint | undefined, manager: bigint) => Promise<T>): Promise<T> =>
    withService(api, wideName, f);
  return {
    state: () =>
      withThis(async (service) => {
        if (service === undefined) return 'absent';
        const status = Buffer.alloc(28);
        must('QueryServiceStatus', a.QueryServiceStatus(service, ptr(status)));
        return states[status.readUInt32LE(4)] ?? 'stopped';
      }),
    install: (settings) =>
      withThis(async (found, manager) => {
        if (found !== undefined) return changeService(api, found, settings);
        return createService(api, manager, wideName, settings);
      }),
    start: () =>
      withThis(async (service) => {
        if (service !== undefined) must('StartServiceW', a.StartServiceW(service, 0, none));
      }),
    stop: () =>
      withThis(async (service) => {
        if (service !== undefined) a.ControlService(service, controlStop, ptr(Buffer.alloc(28))); // ignores errors
      }),
    remove: () =>
      withThis(async (service) => {
        if (service !== undefined) must('DeleteService', a.DeleteService(service));
      }),
  };
}

/** Opens a service and closes it after `f`, which gets undefined if the service does not exist. */
async function withService<T>(
  { a, ptr, must, lastError }: ServiceApi,
  wideName: Uint8Array,
  f: (service: bigint | undefined, manager: bigint) => Promise<T>,
): Promise<T> {
  const manager = must('OpenSCManagerW', a.OpenSCManagerW(none, none, managerAccess));
  try {
    const service = BigInt(a.OpenServiceW(manager, ptr(wideName), allAccess));
    const code = service === 0n ? lastError() : 0;
    if (code !== 0 && code !== noSuchService) throw new WindowsError('OpenServiceW', code);
    try {
      return await f(service === 0n ? undefined : service, manager);
    } finally {
      if (service !== 0n) a.CloseServiceHandle(service);
    }
  } finally {
    a.CloseServiceHandle(manager);
  }
}

function changeService(
  api: ServiceApi,
  service: bigint,
  { description, commandLine, restartMs }: ServiceSettings,
): void {
  const { a, ptr, must } = api;
  const command = wide(commandLine);
  const done = a.ChangeServiceConfigW(
    service,
    ownProcess,
    automatic,
    noChange,
    ptr(command),
    none,
    none,
    none,
    none,
    none,
    none,
  );
  must('ChangeServiceConfigW', done);
  configure(api, service, description, restartMs);
}

function createService(api: ServiceApi, manager: bigint, wideName: Uint8Array, settings: ServiceSettings): void {
  const { a, ptr, must } = api;
  const { displayName, description, commandLine, restartMs } = settings;
  const [display, command] = [wide(displayName), wide(commandLine)];
  const made = must(
    'CreateServiceW',
    a.CreateServiceW(
      manager,
      ptr(wideName),
      ptr(display),
      allAccess,
      ownProcess,
      automatic,
      normalErrors,
      ptr(command),
      none,
      none,
      none,
      none,
      none,
    ),
  );
  try {
    configure(api, made, description, restartMs);
  } finally {
    a.CloseServiceHandle(made);
  }
}

/** Sets the description, and restarts after failures. */
function configure({ a, ptr, must }: ServiceApi, service: bigint, description: string, restartMs: number): void {
  const change = (what: number, text: Uint8Array): void => {
    must('ChangeServiceConfig2W', a.ChangeServiceConfig2W(service, what, ptr(text)));
  };
  const text = wide(description);
  const pointer = Buffer.alloc(8);
  pointer.writeBigUInt64LE(BigInt(ptr(text)), 0);
  change(settingDescription, pointer);
  const actions = Buffer.alloc(3 * 8);
  for (let i = 0; i < 3; i++) {
    actions.writeUInt32LE(actionRestart, i * 8);
    actions.writeUInt32LE(restartMs, i * 8 + 4);
  }
  const failure = Buffer.alloc(40); // SERVICE_FAILURE_ACTIONSW, never reset (reset period 0)
  failure.writeUInt32LE(3, 24);
  failure.writeBigUInt64LE(BigInt(ptr(actions)), 32);
  change(settingFailureActions, failure);
  const flag = Buffer.alloc(4);
  flag.writeUInt32LE(1, 0); // also for an exit with an error code; older Windows versions lack this setting
  a.ChangeServiceConfig2W(service, settingFailureFlag, ptr(flag));
}

/** Keeps these referenced: Windows holds their addresses for the lifetime of the process. */
const held: unknown[] = [];
const acceptStopAndShutdown = 5;
const controlShutdown = 5;
const notStartedByManager = 1063;
/** Blocks its thread until the service has stopped. */
const dispatcher = `
const { dlopen } = require('bun:ffi');
const { parentPort, workerData } = require('node:worker_threads');
const { symbols: a } = dlopen('advapi32.dll', { StartServiceCtrlDispatcherW: { args: ['u64'], returns: 'i32' } });
const { symbols: k } = dlopen('kernel32.dll', { GetLastError: { args: [], returns: 'u32' } });
parentPort.postMessage(a.StartServiceCtrlDispatcherW(workerData.table) ? 0 : Number(k.GetLastError()));
`;

/**
 * Connects this process to the service manager that started it.
 *
 * @throws Error if the service manager did not start it.
 */
export async function startedService(name: string): Promise<StartedService> {
  const { dlopen, ptr, JSCallback } = await import('bun:ffi');
  const { symbols: a } = dlopen('advapi32.dll', serviceCalls);
  const stop = new AbortController();
  const wideName = wide(name);
  let handle = 0n;
  let last: number = stateNumbers.starting;
  const report = (state: number, waitMs = 0): void => {
    last = state;
    const status = Buffer.alloc(28); // SERVICE_STATUS
    status.writeUInt32LE(ownProcess, 0);
    status.writeUInt32LE(state, 4);
    status.writeUInt32LE(state === stateNumbers.running ? acceptStopAndShutdown : 0, 8);
    status.writeUInt32LE(waitMs, 24);
    if (handle !== 0n) a.SetServiceStatus(handle, ptr(status));
  };
  const { promise, resolve, reject } = Promise.withResolvers<StartedService>();
  const control = new JSCallback(
    (code: number) => {
      if (code === controlStop || code === controlShutdown) stop.abort(new Error('stopped by the service manager'));
      else report(last);
    },
    { args: ['u32'], returns: 'void', threadsafe: true },
  );
  const main = new JSCallback(
    () => {
      handle = BigInt(a.RegisterServiceCtrlHandlerW(ptr(wideName), control.ptr ?? 0));
      report(stateNumbers.starting, 30_000);
      resolve({ stopped: stop.signal, tell: (state, waitMs) => report(stateNumbers[state], waitMs) });
    },
    { args: ['u32', 'u64'], returns: 'void', threadsafe: true },
  );
  const table = Buffer.alloc(32); // one entry, and the empty one that terminates the table
  table.writeBigUInt64LE(BigInt(ptr(wideName)), 0);
  table.writeBigUInt64LE(BigInt(main.ptr ?? 0), 8);
  const worker = new Worker(dispatcher, { eval: true, workerData: { table: BigInt(ptr(table)) } });
  held.push(wideName, control, main, table, worker);
  worker.once('message', (code: number) => {
    if (code === notStartedByManager) reject(new Error('this command is for the service manager of Windows alone'));
    else if (code !== 0) reject(new Error(`the service manager refuses this process: error ${code}`));
  });
  worker.once('error', reject);
  return promise;
}
