// Pipes, consoles, the registry and the event log: functions of Windows, which exist in the compiled program only.
// Addresses and lengths that are passed always belong to arrays allocated here.
import { randomUUID } from 'node:crypto';
import { WindowsError, type WindowsEvent } from '../windows-ports.ts';
import { mustBy, none, wide } from './win32-calls.ts';

const kernelCalls = {
  CreateFileW: { args: ['ptr', 'u32', 'u32', 'u64', 'u32', 'u32', 'u64'], returns: 'u64' },
  CloseHandle: { args: ['u64'], returns: 'i32' },
  LocalFree: { args: ['u64'], returns: 'u64' },
  GetLastError: { args: [], returns: 'u32' },
} as const;

const consoleCalls = {
  FreeConsole: { args: [], returns: 'i32' },
  AttachConsole: { args: ['u32'], returns: 'i32' },
  GetConsoleProcessList: { args: ['ptr', 'u32'], returns: 'u32' },
  SetConsoleCtrlHandler: { args: ['u64', 'i32'], returns: 'i32' },
  GenerateConsoleCtrlEvent: { args: ['u32', 'u32'], returns: 'i32' },
  GetLastError: { args: [], returns: 'u32' },
} as const;

/** A child of a process without a console gets a console of its own. */
export async function leaveConsole(): Promise<void> {
  const { dlopen } = await import('bun:ffi');
  dlopen('kernel32.dll', consoleCalls).symbols.FreeConsole();
}

const mostOfConsole = 256;
const ctrlC = 0;
const allOfConsole = 0;

/**
 * Sends Ctrl+C to all processes that share the console of `pid`, and not to this one, which joins that console.
 *
 * @param spared - must not share that console.
 * @throws WindowsError, or Error if `spared` would be interrupted, too
 */
export async function interruptConsole(pid: number, spared: number): Promise<void> {
  const { dlopen, ptr } = await import('bun:ffi');
  const { symbols: k } = dlopen('kernel32.dll', consoleCalls);
  const must = mustBy(() => k.GetLastError());
  k.FreeConsole();
  must('AttachConsole', k.AttachConsole(pid));
  const list = new Uint32Array(mostOfConsole);
  const bytes = new Uint8Array(list.buffer);
  const count = Number(must('GetConsoleProcessList', k.GetConsoleProcessList(ptr(bytes), mostOfConsole)));
  if (count > mostOfConsole || list.subarray(0, count).includes(spared))
    throw new Error(`process ${spared} shares the console of process ${pid}`);
  must('SetConsoleCtrlHandler', k.SetConsoleCtrlHandler(none, 1)); // this process ignores Ctrl+C
  must('GenerateConsoleCtrlEvent', k.GenerateConsoleCtrlEvent(ctrlC, allOfConsole));
}

const registryCalls = {
  RegCreateKeyExW: { args: ['u64', 'ptr', 'u32', 'u64', 'u32', 'u32', 'u64', 'ptr', 'ptr'], returns: 'u32' },
  RegQueryValueExW: { args: ['u64', 'ptr', 'u64', 'u64', 'ptr', 'ptr'], returns: 'u32' },
  RegSetValueExW: { args: ['u64', 'ptr', 'u32', 'u32', 'ptr', 'u32'], returns: 'u32' },
  RegCloseKey: { args: ['u64'], returns: 'u32' },
  RegDeleteKeyW: { args: ['u64', 'ptr'], returns: 'u32' },
} as const;

const localMachine = 0x80000002n;
const bootKey = String.raw`SOFTWARE\platform-agent-boot`;
const volatileKey = 1;
const readWrite = 0x2001f;
const textValue = 1;
const idBytes = 36 * 2;

const registryMust = (call: string, code: number | bigint): void => {
  if (Number(code) !== 0) throw new WindowsError(call, Number(code));
};

/**
 * The same until the next boot: a random text in a registry key that Windows keeps in memory only.
 *
 * @throws WindowsError without the rights of an administrator
 */
export async function windowsBootId(): Promise<string> {
  const { dlopen, ptr } = await import('bun:ffi');
  const { symbols: a } = dlopen('advapi32.dll', registryCalls);
  const [name, value, key, made] = [wide(bootKey), wide('id'), Buffer.alloc(8), Buffer.alloc(4)];
  const opened = a.RegCreateKeyExW(localMachine, ptr(name), 0, none, volatileKey, readWrite, none, ptr(key), ptr(made));
  registryMust('RegCreateKeyExW', opened);
  const handle = key.readBigUInt64LE(0);
  try {
    const [found, size] = [Buffer.alloc(idBytes), Buffer.alloc(4)];
    size.writeUInt32LE(found.length, 0);
    const read = a.RegQueryValueExW(handle, ptr(value), none, none, ptr(found), ptr(size));
    if (Number(read) === 0 && size.readUInt32LE(0) === idBytes) return found.toString('utf16le');
    const id = randomUUID();
    const bytes = Buffer.from(id, 'utf16le');
    registryMust('RegSetValueExW', a.RegSetValueExW(handle, ptr(value), 0, textValue, ptr(bytes), bytes.length));
    return id;
  } finally {
    a.RegCloseKey(handle);
  }
}

/** Removes what `windowsBootId` made. */
export async function forgetBootId(): Promise<void> {
  const { dlopen, ptr } = await import('bun:ffi');
  const name = wide(bootKey);
  dlopen('advapi32.dll', registryCalls).symbols.RegDeleteKeyW(localMachine, ptr(name));
}

const eventCalls = {
  RegisterEventSourceW: { args: ['u64', 'ptr'], returns: 'u64' },
  ReportEventW: { args: ['u64', 'u32', 'u32', 'u32', 'u64', 'u32', 'u32', 'ptr', 'u64'], returns: 'i32' },
  DeregisterEventSource: { args: ['u64'], returns: 'i32' },
} as const;

const eventTypes = { error: 1, warning: 2, info: 4 } as const;
const longestEvent = 8_000;

/** Writes one entry to the event log "Application". @throws WindowsError */
export async function reportEvent(source: string, { type, id, text }: WindowsEvent): Promise<void> {
  const { dlopen, ptr } = await import('bun:ffi');
  const { symbols: a } = dlopen('advapi32.dll', eventCalls);
  const { symbols: k } = dlopen('kernel32.dll', kernelCalls);
  const must = mustBy(() => k.GetLastError());
  const [name, words, strings] = [wide(source), wide(text.slice(0, longestEvent)), Buffer.alloc(8)];
  const handle = must('RegisterEventSourceW', a.RegisterEventSourceW(none, ptr(name)));
  try {
    strings.writeBigUInt64LE(BigInt(ptr(words)), 0);
    must('ReportEventW', a.ReportEventW(handle, eventTypes[type], 0, id, none, 1, 0, ptr(strings), none));
  } finally {
    a.DeregisterEventSource(handle);
  }
}

const securityCalls = {
  ConvertStringSecurityDescriptorToSecurityDescriptorW: { args: ['ptr', 'u32', 'ptr', 'u64'], returns: 'i32' },
  SetKernelObjectSecurity: { args: ['u64', 'u32', 'u64'], returns: 'i32' },
} as const;

const readWriteAndSetAccess = 0xc0040000;
const existing = 3;
const invalidHandle = 0xffffffffffffffffn;
const descriptorRevision = 1;
const ownAccessList = 0x80000004;
/** Full access for the system and the administrators, and nothing inherited. */
const administratorsOnly = 'D:P(A;;FA;;;SY)(A;;FA;;;BA)';

/**
 * Limits a named pipe to the system and the administrators. Everyone can read a new pipe. All instances of a pipe share
 * one access list. @throws WindowsError
 */
export async function closePipeToOthers(name: string): Promise<void> {
  const { dlopen, ptr } = await import('bun:ffi');
  const { symbols: k } = dlopen('kernel32.dll', kernelCalls);
  const { symbols: a } = dlopen('advapi32.dll', securityCalls);
  const must = mustBy(() => k.GetLastError());
  const [wideName, text, descriptor] = [wide(name), wide(administratorsOnly), Buffer.alloc(8)];
  const handle = BigInt(k.CreateFileW(ptr(wideName), readWriteAndSetAccess, 0, none, existing, 0, none));
  must('CreateFileW', handle === invalidHandle ? 0 : 1);
  try {
    must(
      'ConvertStringSecurityDescriptorToSecurityDescriptorW',
      a.ConvertStringSecurityDescriptorToSecurityDescriptorW(ptr(text), descriptorRevision, ptr(descriptor), none),
    );
    const address = descriptor.readBigUInt64LE(0);
    try {
      must('SetKernelObjectSecurity', a.SetKernelObjectSecurity(handle, ownAccessList, address));
    } finally {
      k.LocalFree(address);
    }
  } finally {
    k.CloseHandle(handle);
  }
}
