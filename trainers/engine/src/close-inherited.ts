/**
 * Closes inherited files on import. A program imports it first: the threads of native libraries open files, too, and
 * would later close a descriptor of that number again, whatever it is then.
 */
import { closeInherited } from './inherited-files.ts';

closeInherited();
