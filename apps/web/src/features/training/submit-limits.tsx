import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { JobResourcesSchema } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { useState } from 'react';
import { TextField } from '../../ui/fields.tsx';

export interface Limits {
  gpus: string;
  minutes: string;
  memoryMib: string;
}
const isWhole = (text: string): boolean => /^\d{0,7}$/.test(text.trim());

/** Returns the problem with the limits; undefined if there is none. Empty fields mean the server's default. */
export const limitsProblem = ({ gpus, minutes, memoryMib }: Limits): string | undefined =>
  [gpus, minutes, memoryMib].every(isWhole) ? undefined : 'Limits are whole numbers; empty means the default.';

export const resourcesOf = ({ gpus, minutes, memoryMib }: Limits): MessageInitShape<typeof JobResourcesSchema> => ({
  gpus: Number(gpus),
  memoryMib: Number(memoryMib),
  ...(Number(minutes) > 0 && { timeLimit: durationFromMs(Number(minutes) * 60_000) }),
});

export const useLimits = () => useState<Limits>({ gpus: '', minutes: '', memoryMib: '' });

/** GPUs, time and memory of a job; collapsed, because the defaults fit most jobs. */
export function LimitFields({ limits, onChange }: { limits: Limits; onChange: (limits: Limits) => void }) {
  const problem = limitsProblem(limits);
  return (
    <details>
      <summary>Limits</summary>
      <div className="form-grid form-more">
        <TextField
          label="GPUs"
          value={limits.gpus}
          onChange={(gpus) => onChange({ ...limits, gpus })}
          hint="The job waits for a runner with this many."
          placeholder="0"
        />
        <TextField
          label="Longest time in minutes"
          value={limits.minutes}
          onChange={(minutes) => onChange({ ...limits, minutes })}
          placeholder="60"
        />
        <TextField
          label="Memory in MiB"
          value={limits.memoryMib}
          onChange={(memoryMib) => onChange({ ...limits, memoryMib })}
          placeholder="2048"
        />
      </div>
      {problem && <p className="field-wrong">{problem}</p>}
    </details>
  );
}
