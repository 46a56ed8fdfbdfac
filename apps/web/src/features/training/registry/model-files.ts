/** What the files of a model version are for, by their names. */

/** By the end of the name; the first one that fits. */
const meanings: readonly (readonly [end: string, meaning: string])[] = [
  ['.int8.onnx', 'ONNX with 8-bit numbers: smaller, for machines, too'],
  ['.onnx', 'ONNX, the file that machines run'],
  ['.int8.tflite', 'TensorFlow Lite with 8-bit numbers'],
  ['.tflite', 'TensorFlow Lite'],
  ['labels.txt', 'the labels in the order of the output'],
  ['evaluation.json', 'all measurements'],
  ['curves.png', 'loss and score by epoch'],
  ['model_card.md', 'scores, limits and a sample program'],
  ['model_card.json', 'the same for programs'],
];

/** Undefined for a file that no built-in trainer writes. */
export const fileMeaning = (name: string): string | undefined => meanings.find(([end]) => name.endsWith(end))?.[1];
