// Copies of the server's data, made and restored while the server is stopped. Files of images and models are named by
// their content and only added, so they stay where they are.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { places } from './places.ts';
import { restoring } from './state.ts';
import { diskUsage, flush, must } from './system.ts';

const cloud = path.join(places.data, 'cloud');
const snapshots = path.join(places.state, 'snapshots');
const isData = (name: string): boolean => name !== 'blobs' && !name.endsWith('.lock');
const entries = (folder: string): string[] => readdirSync(folder).filter(isData);

/** Bytes that a snapshot needs. */
export const snapshotSize = (): number =>
  entries(cloud).reduce((sum, name) => sum + diskUsage(path.join(cloud, name)), 0);

/** Copies all data; replaces the snapshot of this name. @returns its folder. */
export function takeSnapshot(name: string): string {
  const folder = path.join(snapshots, name);
  const fresh = `${folder}.tmp`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true, mode: 0o700 });
  for (const entry of entries(cloud)) must('cp', '-a', '--reflink=auto', path.join(cloud, entry), fresh);
  flush(fresh);
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
  flush(snapshots);
  return folder;
}

/**
 * Replaces the data by those of a snapshot. The replaced data stay in the folder `discarded`. After an interruption it
 * starts again from the whole snapshot.
 */
export function restoreSnapshot(folder: string): void {
  const discarded = path.join(snapshots, 'discarded');
  if (!existsSync(restoring)) rmSync(discarded, { recursive: true, force: true });
  writeFileSync(restoring, `${folder}\n`);
  flush(places.state);
  for (const name of entries(cloud)) {
    const target = path.join(discarded, name);
    mkdirSync(discarded, { recursive: true, mode: 0o700 });
    // After an interruption the data that were in use are there already, and these are a part of the snapshot.
    if (existsSync(target)) rmSync(path.join(cloud, name), { recursive: true });
    else renameSync(path.join(cloud, name), target);
  }
  for (const entry of readdirSync(folder)) must('cp', '-a', '--reflink=auto', path.join(folder, entry), cloud);
  flush(cloud);
  rmSync(restoring);
  flush(places.state);
}

/** Removes all snapshots but those named. */
export function keepSnapshots(kept: readonly (string | null)[]): void {
  mkdirSync(snapshots, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(snapshots)) {
    const folder = path.join(snapshots, name);
    if (name !== 'discarded' && !kept.includes(folder)) rmSync(folder, { recursive: true, force: true });
  }
}
