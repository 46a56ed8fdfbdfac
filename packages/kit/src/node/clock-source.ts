import { execFile } from 'node:child_process';

const answerMs = 10_000;

/** Whether NTP synchronizes the system clock, as systemd reports it; false if systemd does not report it. */
export const isSystemClockSynchronized = (): Promise<boolean> =>
  new Promise((resolve) => {
    const args = ['show', '--property=NTPSynchronized', '--value'];
    execFile('timedatectl', args, { timeout: answerMs }, (error, output) =>
      resolve(error === null && output.trim() === 'yes'),
    );
  });
