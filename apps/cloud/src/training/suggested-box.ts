import type { PredictedBox } from '@platform/contract/job/predictions';

export const boxMessage = ([xMinNormalized, yMinNormalized, xMaxNormalized, yMaxNormalized]: PredictedBox) => ({
  xMinNormalized,
  yMinNormalized,
  xMaxNormalized,
  yMaxNormalized,
});
