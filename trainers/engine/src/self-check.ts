/** Loads the native libraries of the trainers and exits with 0: then trainers can start in this environment. */
import { decode } from './images.ts';
import { openSession } from './runtime.ts';

process.exitCode = typeof decode === 'function' && typeof openSession === 'function' ? 0 : 1;
