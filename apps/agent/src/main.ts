import { commandLine } from './command-line.ts';

void commandLine(process.argv.slice(2), process.env).then((code) => process.exit(code));
