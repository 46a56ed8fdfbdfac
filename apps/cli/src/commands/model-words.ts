import { ModelFramework, ModelType } from '@platform/client';
import { madeFrameworks, type RecipeName, recipes } from '@platform/contract/trainer-settings';

export const modelTypes = {
  'single-label': ModelType.SINGLE_LABEL_CLASSIFICATION,
  'multi-label': ModelType.MULTI_LABEL_CLASSIFICATION,
  'object-detection': ModelType.OBJECT_DETECTION,
  'single-label-classification': ModelType.SINGLE_LABEL_CLASSIFICATION,
  'multi-label-classification': ModelType.MULTI_LABEL_CLASSIFICATION,
} as const;
export const frameworks = {
  tflite: ModelFramework.TFLITE,
  tensorflow: ModelFramework.TENSORFLOW,
  pytorch: ModelFramework.PYTORCH,
  onnx: ModelFramework.ONNX,
} as const;
/** Those that built-in training makes. */
export const trainedFrameworks: Readonly<Record<string, ModelFramework>> = Object.fromEntries(
  Object.values(madeFrameworks)
    .flat()
    .map((one) => [one, frameworks[one]]),
);
export const recipeWords: Readonly<Record<string, RecipeName>> = Object.fromEntries(recipes.map((one) => [one, one]));
