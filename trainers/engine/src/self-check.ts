/** Loads the native libraries of the trainers, and ends with 0: where it does, trainers start. */
import { decode } from './images.ts';
import { openSession } from './runtime.ts';

process.exitCode = typeof decode === 'function' && typeof openSession === 'function' ? 0 : 1;
