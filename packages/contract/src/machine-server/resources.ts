// The models that platform-server can run. It reports them; the management server validates configurations against
// them.

/** A component or service that a machine server can run. */
export interface ResourceModel {
  readonly kind: 'component' | 'service';
  /** For example camera. */
  readonly type: string;
  /** Empty: the model may be omitted. */
  readonly model: string;
  /** Attributes that name another resource, with its required type. */
  readonly references: readonly ResourceReference[];
}

export interface ResourceReference {
  readonly attribute: string;
  readonly type: string;
}

/** The capabilities that a machine server reports. */
export interface ServerKnowledge {
  readonly models: readonly ResourceModel[];
  /** Types of packages that it installs, for example ml_model. */
  readonly packageTypes: readonly string[];
  /** Names the JSON Schemas of their attributes, hex; absent: it reports none. */
  readonly schemasSha256?: string;
}

const component = (type: string, model: string): ResourceModel => ({ kind: 'component', type, model, references: [] });
const service = (type: string, model: string, references: Readonly<Record<string, string>> = {}): ResourceModel => ({
  kind: 'service',
  type,
  model,
  references: Object.entries(references).map(([attribute, of]) => ({ attribute, type: of })),
});

export const platformServerKnowledge: ServerKnowledge = {
  models: [
    component('camera', 'folder'),
    component('camera', 'http'),
    component('sensor', 'fake'),
    service('mlmodel', 'onnx_cpu'),
    service('vision', 'classifier', { camera: 'camera', mlmodel: 'mlmodel' }),
    service('vision', 'detector', { camera: 'camera', mlmodel: 'mlmodel' }),
    service('data_manager', '', { camera: 'camera', mlmodel: 'mlmodel' }),
    service('data_manager', 'builtin', { camera: 'camera', mlmodel: 'mlmodel' }),
  ],
  packageTypes: ['ml_model'],
};

/** `api` and `model` may be triples such as `rdk:component:camera`; only the last segment matters. */
export const lastWord = (text: string): string => text.split(':').at(-1) ?? '';

/** The type of an entry of `components` or `services`; empty if it has none. */
export const typeOf = ({ type, api }: { readonly type?: unknown; readonly api?: unknown }): string => {
  const given = typeof type === 'string' && type !== '' ? type : api;
  return typeof given === 'string' ? lastWord(given) : '';
};
