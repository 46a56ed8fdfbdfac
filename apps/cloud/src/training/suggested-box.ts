import type { PredictedBox } from '@platform/contract/predictions';

export const boxMessage = ([xMinNormalized, yMinNormalized, xMaxNormalized, yMaxNormalized]: PredictedBox) => ({
  xMinNormalized,
  yMinNormalized,
  xMaxNormalized,
  yMaxNormalized,
});
