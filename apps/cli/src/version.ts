import { readFileSync } from 'node:fs';
import path from 'node:path';
import { checkout } from './data-folder.ts';

/** Version of all programs in this checkout. */
export const { version } = JSON.parse(readFileSync(path.join(checkout, 'package.json'), 'utf8')) as { version: string };
