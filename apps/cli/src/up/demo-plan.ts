/** The demo machine's configuration, before and after the deployment of a model. Pure. */

type Json = Record<string, unknown>;
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const without = (value: unknown, ...names: string[]): Json[] =>
  listOf(value).filter((one) => !names.includes(String(one['name'])));

/** A camera that shows the images of a folder. */
export function firstConfig(imagesFolder: string): Json {
  return {
    agent: { version_control: { 'platform-server': 'stable' } },
    components: [
      { name: 'camera', type: 'camera', model: 'folder', attributes: { path: imagesFolder, interval_seconds: 5 } },
    ],
  };
}

/** `config` with the model's version in use, or undefined if it already is. Keeps all other changes of the user. */
export function deployedConfig(
  config: Json,
  use: { organizationId: string; modelName: string; version: string },
): Json | undefined {
  const wanted = {
    name: use.modelName,
    package: `${use.organizationId}/${use.modelName}`,
    type: 'ml_model',
    version: use.version,
  };
  const has = listOf(config['packages']).some(
    (one) => one['package'] === wanted.package && one['version'] === wanted.version,
  );
  if (has && listOf(config['services']).some((one) => one['name'] === 'classifier')) return undefined;
  return {
    ...config,
    packages: [...without(config['packages'], wanted.name), wanted],
    services: [
      ...without(config['services'], 'classifier', 'watch'),
      {
        name: 'classifier',
        type: 'mlmodel',
        model: 'onnx_cpu',
        attributes: {
          model_path: `\${packages.${wanted.name}}/${use.modelName}.onnx`,
          label_path: `\${packages.${wanted.name}}/labels.txt`,
        },
      },
      {
        name: 'watch',
        type: 'vision',
        model: 'classifier',
        attributes: { camera: 'camera', mlmodel: 'classifier', every_seconds: 5 },
      },
    ],
  };
}

/** An unused version number: one more than the largest integer among them. */
export function nextVersion(used: readonly string[]): string {
  const numbers = used.map(Number).filter((n) => Number.isSafeInteger(n) && n >= 0);
  return String(Math.max(0, ...numbers) + 1);
}

export interface Prediction {
  readonly expected: string;
  readonly label: string;
  readonly score: number;
  readonly version: string;
}

export function predictionOf(expected: string, answer: unknown): Prediction {
  const { label, score, version } = (answer ?? {}) as Partial<Record<'label' | 'score' | 'version', unknown>>;
  if (typeof label !== 'string' || typeof score !== 'number')
    throw new Error(`The machine's answer is not a prediction: ${JSON.stringify(answer).slice(0, 200)}`);
  return { expected, label, score, version: typeof version === 'string' ? version : '' };
}
