/** What the images are made of. Train and test never share a background. */
export type Split = 'train' | 'test';

export interface CutOut {
  label: string;
  /** In sources/cut-outs/. */
  file: string;
}
export interface Background {
  /** In sources/backgrounds/. */
  file: string;
  split: Split;
  /** Grey textures are tinted, differently in each image. */
  grey: boolean;
}

export const cutOuts: readonly CutOut[] = [
  { label: 'balloon', file: 'balloon.png' },
  { label: 'bear', file: 'bear.png' },
  { label: 'cement_mixer', file: 'cement-mixer.png' },
  { label: 'corn', file: 'corn.png' },
  { label: 'daffodil', file: 'daffodil.png' },
  { label: 'garbage_truck', file: 'garbage-truck.png' },
  { label: 'mushroom', file: 'mushroom.png' },
  { label: 'penguin', file: 'penguin.png' },
  { label: 'pigeon', file: 'pigeon.png' },
  { label: 'rabbit', file: 'rabbit.png' },
];

export const backgrounds: readonly Background[] = [
  { file: 'brick.jpg', split: 'train', grey: true },
  { file: 'clock.jpg', split: 'train', grey: true },
  { file: 'coffee.jpg', split: 'train', grey: false },
  { file: 'grass.jpg', split: 'train', grey: true },
  { file: 'hubble.jpg', split: 'train', grey: false },
  { file: 'rocket.jpg', split: 'train', grey: false },
  { file: 'cell.jpg', split: 'test', grey: true },
  { file: 'chelsea.jpg', split: 'test', grey: false },
  { file: 'gravel.jpg', split: 'test', grey: true },
  { file: 'retina.jpg', split: 'test', grey: false },
];
