import { LogFile } from '../os/windows/log-file.ts';
import { createJob, removeAtBoot, startedService, windowsService } from '../os/windows/win32.ts';
import { forgetBootId, interruptConsole, reportEvent } from '../os/windows/win32-machine.ts';

/** What commands use on Windows only. */
export const windows = {
  createJob,
  forgetBootId,
  interruptConsole,
  removeAtBoot,
  reportEvent,
  startedService,
  windowsService,
  openLog: (file: string): LogFile => new LogFile(file),
};
