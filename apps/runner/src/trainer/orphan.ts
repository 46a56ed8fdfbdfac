/** The trainer of a runner that was killed: known by pid and start time, ended when the runner starts again. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '@platform/kit';
import { isAlive, readJson, signalGroup } from '@platform/kit/node';

interface Child {
  pid: number;
  startTime: string;
}
const fileOf = (root: string): string => path.join(root, 'trainer.json');

/** At once, without giving way: the shorter the time in which the trainer lives unknown, the better. */
export function rememberTrainer(root: string, { pid, startTime }: Child): void {
  writeFileSync(fileOf(root), JSON.stringify({ pid, startTime }));
}
export function forgetTrainer(root: string): void {
  rmSync(fileOf(root), { force: true });
}

/** @returns its pid, when one was alive. */
export async function killOrphan(root: string, clock: Clock): Promise<number | undefined> {
  const child = childOf(await readJson(fileOf(root)).catch(() => undefined));
  if (!child || !isAlive(child)) {
    forgetTrainer(root);
    return undefined;
  }
  signalGroup(child.pid, 'SIGKILL');
  while (isAlive(child)) await clock.sleep(20);
  forgetTrainer(root);
  return child.pid;
}

function childOf(value: unknown): Child | undefined {
  if (typeof value !== 'object' || value === null || !('pid' in value) || !('startTime' in value)) return undefined;
  const { pid, startTime } = value;
  return typeof pid === 'number' && typeof startTime === 'string' ? { pid, startTime } : undefined;
}
