/** Formats of annotations, in the words of users. */
export const importFormats = [
  'auto',
  'folders',
  'jsonl',
  'coco',
  'yolo',
  'voc',
  'cvat',
  'labelstudio',
  'createml',
  'csv',
  'sagemaker',
] as const;
export type ImportFormat = (typeof importFormats)[number];
export type FileFormat = Exclude<ImportFormat, 'auto' | 'folders'>;

/** Name and sign of each format. */
export const formatNames: Readonly<Record<FileFormat, { readonly title: string; readonly sign: string }>> = {
  jsonl: { title: 'JSON lines', sign: 'a .jsonl file with image_path in each line, such as dataset.jsonl' },
  coco: { title: 'COCO', sign: 'a JSON file with images, annotations and categories' },
  yolo: {
    title: 'YOLO',
    sign: 'class names (names in a YAML file, classes.txt or obj.names) and text files with boxes in labels/ or beside the images',
  },
  voc: { title: 'Pascal VOC', sign: 'XML files with annotation as their first element' },
  cvat: { title: 'CVAT for images', sign: 'an XML file with annotations as its first element' },
  labelstudio: { title: 'Label Studio', sign: 'a JSON file with a list of tasks' },
  createml: { title: 'Create ML', sign: 'a JSON file with a list of images and their annotations' },
  csv: { title: 'CSV', sign: 'a CSV file that names images, of Roboflow, TensorFlow, Vertex AI or Keras RetinaNet' },
  sagemaker: { title: 'SageMaker manifest', sign: 'a .manifest file with source-ref in each line' },
};
