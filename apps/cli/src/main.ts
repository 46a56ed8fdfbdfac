import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';

// Compiling takes half of the time of a short command. The cache folder is the user's own, because another user could
// put code into a shared one.
enableCompileCache(path.join(process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'platform', 'compiled'));
await import('./command-line.ts');
