/**
 * A sample program for users of a model outside the platform. A test runs it exactly as it appears in the model card.
 */

import type { BuiltInKind } from '@platform/contract/job/model-kinds';

const results: Readonly<Record<BuiltInKind, readonly string[]>> = {
  single_label_classification: [
    'for k in np.argsort(-found["probability"][0])[:3]:',
    '    print(labels[k], round(float(found["probability"][0][k]), 3))',
  ],
  multi_label_classification: [
    'thresholds = json.load(open("model_card.json", encoding="utf-8"))["thresholds"]',
    'for label, p in zip(labels, found["probability"][0]):',
    '    if p >= thresholds[label]: print(label, round(float(p), 3))',
  ],
  object_detection: [
    'thresholds = json.load(open("model_card.json", encoding="utf-8"))["thresholds"]',
    'for box, k, score in zip(found["location"][0], found["category"][0], found["score"][0]):',
    '    if score >= thresholds[labels[int(k)]]: print(labels[int(k)], round(float(score), 3), box.round(3).tolist())',
  ],
};

/** @param file - a .tflite file for LiteRT, otherwise an .onnx file for ONNX Runtime. */
export function sampleProgram({ file, side, task }: { file: string; side: number; task: BuiltInKind }): string[] {
  const isTflite = file.endsWith('.tflite');
  const runtime = isTflite ? 'ai-edge-litert' : 'onnxruntime';
  return [
    `# pip install ${runtime} numpy pillow`,
    `import ${task === 'single_label_classification' ? 'sys' : 'json, sys'}`,
    'import numpy as np',
    'from PIL import Image, ImageOps',
    isTflite ? 'from ai_edge_litert.interpreter import Interpreter' : 'import onnxruntime',
    'labels = open("labels.txt", encoding="utf-8").read().split("\\n")',
    'image = ImageOps.exif_transpose(Image.open(sys.argv[1])).convert("RGBA")',
    'image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")',
    `pixels = np.asarray(image.resize((${side}, ${side}), Image.Resampling.LANCZOS), np.uint8)[None]`,
    ...(isTflite
      ? [`found = Interpreter(${JSON.stringify(file)}).get_signature_runner()(image=pixels)`]
      : [
          `model = onnxruntime.InferenceSession(${JSON.stringify(file)})`,
          'found = dict(zip([one.name for one in model.get_outputs()], model.run(None, {"image": pixels})))',
        ]),
    ...results[task],
  ];
}
