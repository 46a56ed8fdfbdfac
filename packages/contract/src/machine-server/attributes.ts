// The single source of the attributes that platform-server reads: types, defaults, limits, help. Generated from it: the
// JSON Schemas that platform-server reports and validates with (it does not load Zod).
import { z } from 'zod';

interface AttributeNotes {
  /** Name in forms. */
  readonly title: string;
  readonly description: string;
  readonly unit?: 's';
  /** Type of the other entry of the configuration that this attribute names. */
  readonly reference?: string;
  /** A path in a package of this type. */
  readonly packageType?: string;
  /** The file in the package; {model} stands for the name of the model. */
  readonly packageFile?: string;
  /** Text for the valid values where the pattern alone is not clear. */
  readonly expected?: string;
}

/** One model of a component or service. */
export interface AttributesOfModel {
  readonly kind: 'component' | 'service';
  readonly type: string;
  /** Empty: it may be omitted. */
  readonly model: string;
  readonly title: string;
  readonly description: string;
  readonly attributes: z.ZodObject;
  /** What an added entry begins with. */
  readonly example: Readonly<Record<string, unknown>>;
}

const text = (notes: AttributeNotes) =>
  z
    .string()
    .min(1)
    .meta({ ...notes });
const texts = (notes: AttributeNotes) =>
  z
    .array(z.string().min(1))
    .default([])
    .meta({ ...notes });
const seconds = (least: number, otherwise: number, notes: AttributeNotes) =>
  z
    .number()
    .min(least)
    .max(1e9)
    .default(otherwise)
    .meta({ ...notes, unit: 's' });
const minimumScore = z
  .number()
  .min(0)
  .max(1)
  .default(0)
  .meta({ title: 'Minimum score', description: 'Results below this score are left out.' } satisfies AttributeNotes);
const camera = text({ title: 'Camera', description: 'The camera whose images it takes.', reference: 'camera' });

const classifier = z.looseObject({
  camera,
  mlmodel: text({ title: 'Model', description: 'The model that it runs on each image.', reference: 'mlmodel' }),
  every_seconds: seconds(0.1, 10, { title: 'Interval', description: 'How often it takes an image.' }),
  minimum_score: minimumScore,
});
const capture = z.looseObject({
  camera,
  every_seconds: seconds(0.1, 60, { title: 'Interval', description: 'How often it stores an image.' }),
  dataset_ids: texts({ title: 'Datasets', description: 'IDs of the datasets that get the images.' }),
  tags: texts({ title: 'Tags', description: 'Tags that each image gets.' }),
  mlmodel: text({
    title: 'Model',
    description: 'Uploads each image with the results of this model.',
    reference: 'mlmodel',
  }).optional(),
  minimum_score: minimumScore,
  capture_folder: text({
    title: 'Folder',
    description: 'Holds the images until they are uploaded. Unset: a folder in the data folder of the server.',
  }).optional(),
});

const captureOf = (model: string): AttributesOfModel => ({
  kind: 'service',
  type: 'data_manager',
  model,
  title: 'Data capture',
  description: 'Uploads images of a camera at an interval.',
  attributes: capture,
  example: { camera: '', every_seconds: 60 },
});
const visionOf = (model: string, title: string): AttributesOfModel => ({
  kind: 'service',
  type: 'vision',
  model,
  title,
  description: 'Runs a model on the images of a camera, and logs the results.',
  attributes: classifier,
  example: { camera: '', mlmodel: '' },
});

export const serverAttributes: readonly AttributesOfModel[] = [
  {
    kind: 'component',
    type: 'camera',
    model: 'folder',
    title: 'Camera of a folder',
    description: 'Shows the images of a folder one after the other.',
    attributes: z.looseObject({
      path: text({ title: 'Folder', description: 'Folder on the machine with .jpg and .png files.' }),
      interval_seconds: seconds(0, 1, {
        title: 'Interval',
        description: 'After this time it shows the next image, in a loop. 0: the next image at every request.',
      }),
    }),
    example: { path: '/var/images', interval_seconds: 1 },
  },
  {
    kind: 'component',
    type: 'camera',
    model: 'http',
    title: 'Camera on the network',
    description: 'Requests each image from an address.',
    attributes: z.looseObject({
      url: z
        .string()
        .regex(/^https?:\/\/[^\s/]/)
        .meta({
          title: 'Address',
          description: 'A GET of this address answers with a JPEG or PNG of at most 16 MiB.',
          expected: 'an http(s) address',
        } satisfies AttributeNotes),
    }),
    example: { url: 'http://192.168.1.20/image.jpg' },
  },
  {
    kind: 'component',
    type: 'sensor',
    model: 'fake',
    title: 'Sensor with fixed readings',
    description: 'Answers with the readings that are written here, to try something out.',
    attributes: z.looseObject({
      readings: z
        .record(z.string(), z.unknown())
        .default({})
        .meta({ title: 'Readings', description: 'Its readings by name.' } satisfies AttributeNotes),
    }),
    example: {},
  },
  {
    kind: 'service',
    type: 'mlmodel',
    model: 'onnx_cpu',
    title: 'Model',
    description: 'A trained model in the ONNX format, which runs on the processor.',
    attributes: z.looseObject({
      model_path: text({
        title: 'Model file',
        description: 'An ONNX file on the machine. ${packages.NAME}/ is the folder of a package.',
        packageType: 'ml_model',
        packageFile: '{model}.onnx',
      }),
      label_path: text({
        title: 'Label file',
        description: 'A text file with one label per line.',
        packageType: 'ml_model',
        packageFile: 'labels.txt',
      }),
      reject_unlike: z
        .boolean()
        .default(false)
        .meta({
          title: 'Reject images unlike anything seen',
          description: 'Gives no label to an image that is unlike all training images.',
        } satisfies AttributeNotes),
    }),
    example: { model_path: '/opt/models/model.onnx', label_path: '/opt/models/labels.txt' },
  },
  visionOf('classifier', 'Classifier'),
  visionOf('detector', 'Detector'),
  captureOf(''),
  captureOf('builtin'),
];
