import { ModelFramework, type ModelType } from '@platform/client';
import { builtInKinds, modelKinds } from '@platform/contract/job/model-kinds';
import { type RecipeName, recipes } from '@platform/contract/job/trainer-settings';

const withDashes = (text: string): string => text.replaceAll(/[ _]/g, '-');

/** The short and the long value of each model type. */
export const modelTypes: Readonly<Record<string, ModelType>> = Object.fromEntries(
  builtInKinds.flatMap((kind) => {
    const { shortTitle, modelType } = modelKinds[kind];
    return [withDashes(shortTitle), withDashes(kind)].map((word) => [word, modelType]);
  }),
);
export const frameworks = {
  tflite: ModelFramework.TFLITE,
  tensorflow: ModelFramework.TENSORFLOW,
  pytorch: ModelFramework.PYTORCH,
  onnx: ModelFramework.ONNX,
} as const;
/** Frameworks that built-in training exports. */
export const trainedFrameworks: Readonly<Record<string, ModelFramework>> = Object.fromEntries(
  builtInKinds.flatMap((kind) => modelKinds[kind].frameworks).map((one) => [one, frameworks[one]]),
);
export const recipeWords: Readonly<Record<string, RecipeName>> = Object.fromEntries(recipes.map((one) => [one, one]));
