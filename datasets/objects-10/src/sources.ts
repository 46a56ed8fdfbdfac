/** What the images are made of. Train and test never share a background. */
export type Split = 'train' | 'test';
/** Where a thing is found, and what a background shows. */
export type Place = 'ground' | 'air' | 'both';

export interface CutOut {
  label: string;
  /** In sources/cut-outs/. */
  file: string;
  place: Place;
}
export interface Background {
  /** In sources/. */
  file: string;
  split: Split;
  place: Place;
  /** Grey textures are tinted like stone, differently in each image. */
  grey: boolean;
}

export const cutOuts: readonly CutOut[] = [
  { label: 'balloon', file: 'balloon.png', place: 'air' },
  { label: 'bear', file: 'bear.png', place: 'ground' },
  { label: 'cement_mixer', file: 'cement-mixer.png', place: 'ground' },
  { label: 'corn', file: 'corn.png', place: 'ground' },
  { label: 'daffodil', file: 'daffodil.png', place: 'ground' },
  { label: 'garbage_truck', file: 'garbage-truck.png', place: 'ground' },
  { label: 'mushroom', file: 'mushroom.png', place: 'ground' },
  { label: 'penguin', file: 'penguin.png', place: 'ground' },
  { label: 'pigeon', file: 'pigeon.png', place: 'both' },
  { label: 'rabbit', file: 'rabbit.png', place: 'ground' },
];

/** Places where one may come across the ten things. */
export const backgrounds: readonly Background[] = [
  { file: 'backgrounds/cliff.jpg', split: 'train', place: 'both', grey: false },
  { file: 'backgrounds/meadow.jpg', split: 'train', place: 'both', grey: false },
  { file: 'backgrounds/mossy-log.jpg', split: 'train', place: 'ground', grey: false },
  { file: 'backgrounds/waves.jpg', split: 'train', place: 'air', grey: false },
  { file: 'photographs/brick.jpg', split: 'train', place: 'ground', grey: true },
  { file: 'backgrounds/clouds.jpg', split: 'test', place: 'air', grey: false },
  { file: 'backgrounds/leaves.jpg', split: 'test', place: 'air', grey: false },
  { file: 'backgrounds/mudstone.jpg', split: 'test', place: 'ground', grey: false },
  { file: 'backgrounds/pebbles.jpg', split: 'test', place: 'ground', grey: false },
  { file: 'backgrounds/trees.jpg', split: 'test', place: 'air', grey: false },
  { file: 'photographs/gravel.jpg', split: 'test', place: 'ground', grey: true },
];

/** Whether one may come across the thing there. */
export const isPlausible = (thing: Pick<CutOut, 'place'>, background: Pick<Background, 'place'>): boolean =>
  thing.place === background.place || thing.place === 'both' || background.place === 'both';
