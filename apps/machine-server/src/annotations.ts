export interface ScoredLabel {
  readonly label: string;
  readonly score: number;
}

/** Corners in 0..1 of the image's width and height. */
export interface Detection extends ScoredLabel {
  readonly x_min_normalized: number;
  readonly y_min_normalized: number;
  readonly x_max_normalized: number;
  readonly y_max_normalized: number;
}

/** Annotations uploaded with a captured image; keys as in the file beside the image. */
export interface ImageAnnotations {
  readonly bboxes: readonly Detection[];
  readonly classifications: readonly ScoredLabel[];
}
