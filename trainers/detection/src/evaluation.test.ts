import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Detection, EvaluatedImage } from './average-precision.ts';
import type { LabelledBox } from './boxes.ts';
import { labelReports, scoreOf, worstImages } from './evaluation.ts';
import type { Sample } from './split.ts';
import { chooseThresholds } from './thresholds.ts';

const here: LabelledBox = { label: 0, left: 0.1, top: 0.1, right: 0.3, bottom: 0.3 };
const there: LabelledBox = { label: 0, left: 0.6, top: 0.6, right: 0.9, bottom: 0.9 };
const found = (score: number, box: LabelledBox): Detection => ({ ...box, score });
const nowhere: LabelledBox = { label: 0, left: 0.4, top: 0.05, right: 0.5, bottom: 0.15 };
/** IoU 0.6 with `here`: found at IoU 0.5, not at 0.75. */
const roughly: LabelledBox = { ...here, bottom: 0.22 };

test('the threshold lies below the last box that helps', () => {
  const cases: [string, EvaluatedImage[], number[]][] = [
    [
      'right ones above, wrong ones below',
      [{ truth: [here, there], found: [found(0.8, here), found(0.6, there), found(0.2, nowhere)] }],
      [0.4],
    ],
    ['nothing wrong', [{ truth: [here], found: [found(0.5, here)] }], [0.25]],
    [
      'a sure mistake costs less than a missed box',
      [{ truth: [here], found: [found(0.9, nowhere), found(0.6, here)] }],
      [0.3],
    ],
    ['never over 0.9', [{ truth: [here], found: [found(1, here), found(0.98, nowhere)] }], [0.9]],
    ['nothing found', [{ truth: [here], found: [] }], [0.3]],
    ['no image', [], [0.3]],
  ];
  for (const [name, evaluated, wanted] of cases) assert.deepEqual(chooseThresholds(evaluated, 1), wanted, name);
});

test('figures of each label at its threshold, of three overlaps, and of all', () => {
  const evaluated: EvaluatedImage[] = [
    { truth: [here], found: [found(0.9, roughly), found(0.4, there)] },
    { truth: [there, { ...here, label: 1 }], found: [found(0.8, there), found(0.1, { ...here, label: 1 })] },
  ];
  const [first, second, third] = labelReports(evaluated, [0.3, 0.5], ['a', 'b', 'c']);
  assert.deepEqual([first?.support, second?.support, third?.support], [2, 1, 0]);
  assert.deepEqual([first?.precision, first?.recall, first?.f1], [2 / 3, 1, 0.8]);
  assert.deepEqual([first?.ap50, first?.ap75], [1, 0.25]);
  assert.deepEqual([second?.precision, second?.recall, second?.ap50, second?.threshold], [0, 0, 1, 0.5]);
  assert.deepEqual([third?.ap50, third?.f1], [0, 0]);
  const { map50, map75, map } = scoreOf(evaluated, 3);
  assert.deepEqual([map50, map75], [1, 0.625]);
  assert.ok(map > map75 && map < map50);
});

test('the images that went most wrong, with what was missed and what is not there', () => {
  const samples = ['good', 'one', 'two'].map((name, index) => ({
    index,
    boxes: [],
    line: { image_path: `data/${name}`, file_name: `${name}.jpg`, sha256: name, binary_data_id: name },
  })) as unknown as Sample[];
  const evaluated: EvaluatedImage[] = [
    { truth: [here], found: [found(0.9, here), found(0.2, nowhere)] },
    { truth: [here], found: [found(0.2, here)] },
    { truth: [here], found: [found(0.7, nowhere), found(0.6, there)] },
  ];
  const worst = worstImages(samples, evaluated, [0.3], ['a']);
  assert.deepEqual(
    worst.map(({ file_name: name, missed, wrong }) => [name, missed.length, wrong.map(({ score }) => score)]),
    [
      ['two.jpg', 1, [0.7, 0.6]],
      ['one.jpg', 1, []],
    ],
  );
  assert.deepEqual(worst[1]?.missed, [
    { label: 'a', x_min_normalized: 0.1, y_min_normalized: 0.1, x_max_normalized: 0.3, y_max_normalized: 0.3 },
  ]);
});
