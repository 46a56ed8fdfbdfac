// Cut-outs by label out of Debian's packages, each with its group: what shows the same object, or was drawn from the same
// template, is in one group. Development sets and named test sets of one task come from different packages.
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import path from 'node:path';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import { debianPackage } from '../../engine/bench/debian.ts';

export interface CutOut {
  label: string;
  group: string;
  file: string;
}

const stampFolders: Readonly<Record<string, string>> = {
  bird: 'animals/birds',
  clothes: 'clothes',
  flower: 'plants/flowers',
  fruit: 'food/fruit',
  household: 'household',
  insect: 'animals/insects',
  mammal: 'animals/mammals',
  vegetable: 'food/vegetables',
  vehicle: 'vehicles',
};
const eightFolders: Readonly<Record<string, string>> = {
  bird: 'animals/birds',
  bug: 'animals/bugs',
  flower: 'plants/flowers',
  fruit: 'food/fruit',
  instrument: 'recreation/music',
  mammal: 'animals/mammals',
  tool: 'tools',
  vehicle: 'transportation/vehicles',
};
const fourteenMore: Readonly<Record<string, string>> = {
  astronomy: 'geography/astronomy',
  beverage: 'food/beverages',
  boat: 'transportation/boating',
  book: 'education/books',
  bread: 'food/breads_and_carbs',
  dessert: 'food/desserts',
  fish: 'animals/fish',
  flag: 'signs_and_symbols/flags/america',
  hardware: 'computer/hardware',
  home: 'buildings/homes',
  meat: 'food/meats_and_eggs',
  sport: 'recreation/sports',
  toy: 'recreation/toys',
  weather: 'signs_and_symbols/weather',
};

/** "pear_simple_bw.png" and "pear_simple_02.png" show one pear. */
const stemOf = (file: string): string =>
  path
    .basename(file, '.png')
    .replace(/(^|[_-])(bw|mono|contour|simple|colou?r|outline|alt|md|ganson)(?=[_-]|\d|$)/g, '')
    .replace(/[\d_.-]+$/, '')
    .slice(0, 12);

/** Decoding larger drawings takes most of the time of a bench. */
const mostPixels = 50e6;
function isReadable(file: string): boolean {
  const header = Buffer.alloc(24);
  const opened = openSync(file, 'r');
  readSync(opened, header, 0, header.length, 0);
  closeSync(opened);
  return header.readUInt32BE(16) * header.readUInt32BE(20) <= mostPixels;
}

function cutOutsIn(root: string, folders: Readonly<Record<string, string>>, skip: RegExp): CutOut[] {
  return Object.entries(folders).flatMap(([label, folder]) =>
    readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile() && one.name.endsWith('.png') && !skip.test(path.join(one.parentPath, one.name)))
      .map((one) => path.join(one.parentPath, one.name))
      .filter(isReadable)
      .toSorted()
      .map((file) => ({ label, group: `${label}/${stemOf(file)}`, file })),
  );
}

/** Photographs of objects; undefined where the package cannot be had. */
export function stampCutOuts(labels: readonly string[] = Object.keys(stampFolders)): CutOut[] | undefined {
  const root = debianPackage('tuxpaint-stamps-default');
  const folders = Object.fromEntries(labels.map((label) => [label, stampFolders[label] ?? '']));
  return root && cutOutsIn(path.join(root, 'usr/share/tuxpaint/stamps'), folders, /_mirror|cartoon|toys/);
}
/** Drawings in 8 or 22 categories; undefined where the package cannot be had. */
export function clipArt(categories: 8 | 22): CutOut[] | undefined {
  const root = debianPackage('openclipart-png');
  const folders = categories === 8 ? eightFolders : { ...eightFolders, ...fourteenMore };
  return root && cutOutsIn(path.join(root, 'usr/share/openclipart/png'), folders, /roadsigns/);
}

/** Deals the groups of each label out to `folds` parts, by seed. @returns the part of each cut-out. */
export function foldsByGroup(cutOuts: readonly CutOut[], folds: number, seed: number): number[] {
  const foldOf = new Map<string, number>();
  for (const [label, own] of Map.groupBy(cutOuts, (one) => one.label)) {
    const groups = [...new Set(own.map(({ group }) => group))];
    for (const [i, group] of shuffled(groups, seeded('folds', seed, label)).entries()) foldOf.set(group, i % folds);
  }
  return cutOuts.map(({ group }) => foldOf.get(group) ?? 0);
}
