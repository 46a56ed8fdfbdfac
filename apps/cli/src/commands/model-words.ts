import { ModelFramework, ModelType } from '@platform/client';

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
