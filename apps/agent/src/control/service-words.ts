/** How a user of this platform becomes an administrator for one command. */
export const asAdministrator = (platform: NodeJS.Platform = process.platform): string =>
  platform === 'win32'
    ? 'Run the same command in a terminal that was started as administrator.'
    : 'Run the same command with sudo.';

/** The command that starts or restarts the service of the agent. */
export const commandOfService = (what: 'start' | 'restart', platform: NodeJS.Platform = process.platform): string => {
  if (platform !== 'win32') return `systemctl ${what} platform-agent`;
  return what === 'start' ? 'net start platform-agent' : 'net stop platform-agent & net start platform-agent';
};
