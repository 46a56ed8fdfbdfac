/** What all parts of a training share. */
import type { Device } from '@platform/trainer-engine/device';
import type { Progress } from '@platform/trainer-engine/progress';
import type { Training } from '@platform/trainer-engine/training';
import type { Detector } from './feature-maps.ts';
import type { HeadShape } from './head.ts';
import type { PreparedDataset } from './prepare.ts';
import type { Recipe } from './recipe.ts';

export interface TrainingRun {
  training: Training;
  device: Device;
  recipe: Recipe;
  detector: Detector;
  prepared: PreparedDataset;
  progress: Progress;
  tmp: string;
}

export const shapeOf = ({ recipe, prepared }: Pick<TrainingRun, 'recipe' | 'prepared'>): HeadShape => ({
  side: recipe.side,
  labels: prepared.labels.length,
  hidden: recipe.hidden,
});
