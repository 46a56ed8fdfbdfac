// Releases the memory of its start. Prints one JSON line each: file-backed memory before and after, and a self-test.
import { readFileSync } from 'node:fs';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { forgetStart } from '../src/os/linux/kernel/program-pages.ts';

const fileKib = (): number => Number(/^RssFile:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
const clock = new FakeClock();
const { log, text } = captureLog(clock);
const before = fileKib();
const forgetting = forgetStart({ clock, log }, new AbortController().signal);
await clock.advance(60_000);
await forgetting;
const after = fileKib();
const works = JSON.parse('[1, 2, 3]').length as number;
process.stdout.write(`${JSON.stringify({ before, after, works, log: text() })}\n`);
