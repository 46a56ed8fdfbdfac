// What a detector found in an image of a camera, drawn on it.
import type { Box } from '../../../entities/image/boxes.ts';
import { isolateText } from '../../../ui/user-text.ts';

/** Left, top, width and height in percent of the image. */
export const ImageBox = ({ box }: { box: Box }) => (
  <div
    className={`story-box ${box.confidence !== undefined && box.confidence < 0.9 ? 'is-unsure' : ''}`}
    style={{
      insetInlineStart: `${box.xMin * 100}%`,
      insetBlockStart: `${box.yMin * 100}%`,
      inlineSize: `${(box.xMax - box.xMin) * 100}%`,
      blockSize: `${(box.yMax - box.yMin) * 100}%`,
    }}
    aria-hidden="true"
  >
    <span>{boxText(box)}</span>
  </div>
);

export const boxText = ({ label, confidence }: Box): string =>
  `${isolateText(label)}${confidence === undefined ? '' : ` ${confidence.toFixed(2)}`}`;
