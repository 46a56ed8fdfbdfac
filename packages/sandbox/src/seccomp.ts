/**
 * The seccomp filter of scripts, as a BPF program. It closes what the namespaces leave open. New user namespaces would
 * expose kernel code that is meant for administrators. Keyrings belong to the user and not to a namespace. Other denied
 * interfaces have a history of vulnerabilities. An allowlist permits three socket families, because the kernel loads
 * the module of any other family on request. Decision 0007.
 */

interface Architecture {
  readonly audit: number;
  readonly clone: number;
  readonly unshare: number;
  /** socket and socketpair. */
  readonly sockets: readonly number[];
  /** Numbers of the denied system calls. */
  readonly denied: readonly number[];
  /** Calls from this number on belong to another ABI of the same machine (x32). */
  readonly foreignFrom?: number;
}
// Order of `denied`: add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, setns, open_by_handle_at,
// io_uring_setup, io_uring_enter, io_uring_register.
const architectures: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    unshare: 272,
    sockets: [41, 53],
    denied: [248, 249, 250, 321, 298, 323, 308, 304, 425, 426, 427],
    foreignFrom: 0x40000000,
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    unshare: 97,
    sockets: [198, 199],
    denied: [217, 218, 219, 280, 241, 282, 268, 265, 425, 426, 427],
  },
};
/** A filter cannot read its arguments, which are in memory; libraries fall back to clone. */
const clone3 = 435;
const newUserNamespace = 0x10000000;
/** AF_UNIX, AF_INET, AF_INET6. Without AF_NETLINK getifaddrs fails, and getaddrinfo assumes both IPv4 and IPv6. */
const socketFamilies = [1, 2, 10];

const load = 0x20; // BPF_LD | BPF_W | BPF_ABS
const ifEqual = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const ifAtLeast = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const ifAnyBit = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const give = 0x06; // BPF_RET | BPF_K
const allow = 0x7fff0000;
const refuse = (errno: number): number => 0x00050000 | errno;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const offsets = { number: 0, architecture: 4, firstArgument: 16 } as const;

/** Jumps name labels: distances are computed when the program is complete. */
type Step = readonly [code: number, k: number, then?: Target, otherwise?: Target];
type Target = 'next' | 'flags' | 'family' | 'allow' | 'deny' | 'unknown';

function stepsOf(arch: Architecture): { steps: Step[]; labels: Map<Target, number> } {
  const steps: Step[] = [
    [load, offsets.architecture],
    [ifEqual, arch.audit, 'next', 'unknown'],
    [load, offsets.number],
    ...(arch.foreignFrom === undefined ? [] : [[ifAtLeast, arch.foreignFrom, 'unknown', 'next'] as const]),
    [ifEqual, clone3, 'unknown', 'next'],
    [ifEqual, arch.clone, 'flags', 'next'],
    [ifEqual, arch.unshare, 'flags', 'next'],
    ...arch.sockets.map((number): Step => [ifEqual, number, 'family', 'next']),
    ...arch.denied.map((number): Step => [ifEqual, number, 'deny', 'next']),
    [give, allow],
  ];
  const labels = new Map<Target, number>();
  const label = (target: Target, ...added: Step[]): void => {
    labels.set(target, steps.length);
    steps.push(...added);
  };
  label('flags', [load, offsets.firstArgument], [ifAnyBit, newUserNamespace, 'deny', 'allow']);
  // The kernel also reads the family as a 32-bit number.
  label(
    'family',
    [load, offsets.firstArgument],
    ...socketFamilies.map((family): Step => [ifEqual, family, 'allow', 'next']),
    [give, refuse(EAFNOSUPPORT)],
  );
  label('allow', [give, allow]);
  label('deny', [give, refuse(EPERM)]);
  label('unknown', [give, refuse(ENOSYS)]);
  return { steps, labels };
}

/** The program in the format that bubblewrap reads; undefined for an unsupported architecture. */
export function seccompFilter(architecture: string): Buffer | undefined {
  const arch = architectures[architecture];
  if (!arch) return undefined;
  const { steps, labels } = stepsOf(arch);
  const program = Buffer.alloc(steps.length * 8);
  for (const [at, [code, k, then, otherwise]] of steps.entries()) {
    const distance = (target: Target | undefined): number =>
      target === undefined || target === 'next' ? 0 : (labels.get(target) ?? 0) - at - 1;
    program.writeUInt16LE(code, at * 8);
    program.writeUInt8(distance(then), at * 8 + 2);
    program.writeUInt8(distance(otherwise), at * 8 + 3);
    program.writeUInt32LE(k >>> 0, at * 8 + 4);
  }
  return program;
}
