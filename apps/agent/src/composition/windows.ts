import { LogFile } from '../os/windows/log-file.ts';
import { createJob, removeAtBoot, startedService, windowsService } from '../os/windows/win32.ts';

/** What commands use on Windows only. */
export const windows = {
  createJob,
  removeAtBoot,
  startedService,
  windowsService,
  openLog: (file: string): LogFile => new LogFile(file),
};
