// Files whose header and build note match our programs.
const elf = (machine: number): Buffer => {
  const head = Buffer.alloc(64);
  head.write('\x7fELF\x02\x01\x01', 'latin1');
  head.writeUInt16LE(2, 16);
  head.writeUInt16LE(machine, 18);
  return head;
};
const machines: Record<string, number> = { 'linux/amd64': 62, 'linux/arm64': 183 };

const bytesOf = (name: string, version: string, platform: string, body: string): Buffer =>
  Buffer.concat([
    elf(machines[platform] ?? 0),
    Buffer.from(`\n${body}`),
    Buffer.from(`\nPLATFORM-PROGRAM:${JSON.stringify({ name, version, platform })}\n`),
  ]);

/** @param body - The script that the simulated device runs; see SimProcesses. */
export const serverBytes = (version: string, body = '', platform = 'linux/amd64'): Buffer =>
  bytesOf('platform-server', version, platform, body);
export const agentBytes = (version: string, platform = 'linux/amd64', body = ''): Buffer =>
  bytesOf('platform-agent', version, platform, body);
