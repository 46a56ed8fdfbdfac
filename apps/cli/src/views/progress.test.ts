import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import {
  type TrainingJobMetadata,
  TrainingJobMetadataSchema,
  TrainingStatus,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { displayWidth } from '../terminal-text.ts';
import { progressLine, progressScreen } from './progress.ts';

const job = (of: Parameters<typeof create<typeof TrainingJobMetadataSchema>>[1]): TrainingJobMetadata =>
  create(TrainingJobMetadataSchema, of);
const training = job({
  status: TrainingStatus.IN_PROGRESS,
  phase: 'training',
  progress: 0.526,
  eta: { seconds: 75n },
  metrics: [
    { sequence: 1n, values: { epoch: 0, loss: 2 } },
    { sequence: 2n, values: { stage: 'fine-tune', epoch: 3, loss: 0.41234, validation_accuracy: 0.912, seconds: 3 } },
  ],
});

const lines: readonly [string, TrainingJobMetadata, number, string][] = [
  ['queued', job({ status: TrainingStatus.PENDING, queuePosition: 3 }), 80, 'queued  position 3 in the queue'],
  [
    'waiting',
    job({ status: TrainingStatus.PENDING, queuePosition: 1, waitingFor: 'No runner has 2 GPUs.' }),
    80,
    'queued  No runner has 2 GPUs.',
  ],
  ['with an engine', job({ status: TrainingStatus.PENDING }), 80, 'starting  waiting for a host'],
  [
    'wide',
    training,
    120,
    'training   ███████████░░░░░░░░░  52 %  about 1 min left  epoch 3, loss 0.412, validation accuracy 91.2 %',
  ],
  ['80 columns', training, 80, 'training   ███████████░░░░░░░░░  52 %  about 1 min left'],
  ['40 columns', training, 40, 'training   ███████████░░░░░░░░░  52 %'],
  ['20 columns', training, 20, 'training   ████████…'],
  ['canceling', job({ status: TrainingStatus.CANCELING }), 80, 'canceling'],
];
for (const [name, of, width, text] of lines)
  test(`a line of progress: ${name}`, () => {
    assert.equal(progressLine(of, width), text);
    assert.ok(displayWidth(progressLine(of, width)) <= width);
  });

test('on a terminal the line redraws itself and is gone at the end', () => {
  const written: string[] = [];
  const screen = progressScreen({ write: (text: string) => written.push(text), isTTY: true, columns: 40 });
  screen.show(training);
  screen.show(training);
  screen.close();
  assert.deepEqual(written, ['training   ███████████░░░░░░░░░  52 %', '\r\u001b[2K']);
});

test('elsewhere a line for each phase and each tenth', () => {
  const written: string[] = [];
  const screen = progressScreen({ write: (text: string) => written.push(text) });
  for (const progress of [0.5, 0.52, 0.59, 0.6])
    screen.show(job({ status: TrainingStatus.IN_PROGRESS, phase: 'training', progress }));
  screen.show(job({ status: TrainingStatus.IN_PROGRESS, phase: 'exporting\u001b[2J', progress: 0.95 }));
  assert.deepEqual(written, ['training, 50 %\n', 'training, 60 %\n', 'exporting\ufffd[2J, 95 %\n']);
});
