import { execFile } from 'node:child_process';

const answerMs = 10_000;

/** Whether a time server sets the clock of this machine, as systemd knows it; false where nobody says. */
export const isSystemClockSynchronized = (): Promise<boolean> =>
  new Promise((resolve) => {
    const args = ['show', '--property=NTPSynchronized', '--value'];
    execFile('timedatectl', args, { timeout: answerMs }, (error, said) =>
      resolve(error === null && said.trim() === 'yes'),
    );
  });
