import path from 'node:path';

const programData = (): string => process.env['ProgramData'] ?? 'C:\\ProgramData';

/** Default paths on Windows. */
export const windowsPlaces = {
  root: path.join(programData(), 'Platform', 'agent'),
  credentialsFile: path.join(programData(), 'Platform', 'platform.json'),
} as const;

export const serviceName = 'platform-agent';
/** Relative to the root: a copy of the first installed agent, which supervises the later versions. */
export const supervisorPath = 'lib/platform-agent-keeper.exe';
/** Relative to the root: the log of the supervisor and the agents. */
export const agentLog = 'log/agent.log';
