import { fileDisk } from '../file-disk.ts';
import type { Disk } from '../ports.ts';
import { linuxFileSystem } from './file-system.ts';

export const linuxDisk = (root: string): Disk => fileDisk(linuxFileSystem(root));
