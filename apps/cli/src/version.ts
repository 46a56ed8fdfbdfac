import { readFileSync } from 'node:fs';
import path from 'node:path';
import { checkout } from './data-folder.ts';

/** Of everything in this checkout. */
export const { version } = JSON.parse(readFileSync(path.join(checkout, 'package.json'), 'utf8')) as { version: string };
