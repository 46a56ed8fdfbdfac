import { fileDisk } from '../file-disk.ts';
import type { Disk } from '../ports.ts';
import { posixFileSystem } from './file-system.ts';

export const posixDisk = (root: string): Disk => fileDisk(posixFileSystem(root));
