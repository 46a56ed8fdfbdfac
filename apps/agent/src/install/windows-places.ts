import path from 'node:path';

const programData = (): string => process.env['ProgramData'] ?? 'C:\\ProgramData';

/** Where things lie on Windows unless the command line says otherwise. */
export const windowsPlaces = {
  root: path.join(programData(), 'Platform', 'agent'),
  credentialsFile: path.join(programData(), 'Platform', 'platform.json'),
} as const;

export const serviceName = 'platform-agent';
/** Below the root: a copy of the first agent that was installed. It keeps the later ones running and out of trouble. */
export const keeperPath = 'lib/platform-agent-keeper.exe';
/** Below the root: what the keeper and the agents say. */
export const agentLog = 'log/agent.log';
