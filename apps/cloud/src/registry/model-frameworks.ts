import { ModelFramework } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';

const frameworks: ReadonlyMap<number, string> = new Map(
  Object.entries(ModelFramework).map(([name, framework]) => [framework, name.toLowerCase()]),
);

export const frameworkName = (framework: ModelFramework): string => frameworks.get(framework) ?? String(framework);

export const frameworkOf = (name: string): ModelFramework =>
  Object.values(ModelFramework).find((framework) => frameworkName(framework) === name) ?? ModelFramework.UNSPECIFIED;
