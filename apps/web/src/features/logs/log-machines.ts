import { createContext } from 'react';

export interface LogMachine {
  id: string;
  partId: string;
  name: string;
  /** Its time zone; undefined: it is not known here. */
  timeZone?: string | undefined;
}

/** The machines whose lines are shown; undefined: one, which needs no name at each line. */
export const LogMachines = createContext<readonly LogMachine[] | undefined>(undefined);
