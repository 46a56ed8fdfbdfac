import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';

// Half of the time of a short command is compiling. A folder of the user's own: nobody else may put code there.
enableCompileCache(path.join(process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'platform', 'compiled'));
await import('./command-line.ts');
