/** Maps the API server's Job and Pod to the state of the attempt. */
import type { EngineEnd, EngineStatus } from '../engine.ts';
import { isObject } from '@platform/contract/text/json-object';

const at = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);
const text = (value: unknown, ...path: string[]): string => {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
};
const list = (value: unknown, ...path: string[]): readonly unknown[] => {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
};
const whole = (value: unknown, ...path: string[]): number | undefined => {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : undefined;
};

export const uidOf = (job: unknown): string => text(job, 'metadata', 'uid');
export const podName = (pod: unknown): string => text(pod, 'metadata', 'name');
/** Message of a Status object, which the API server returns for errors. */
export const problemOf = (answer: unknown): string => text(answer, 'message') || text(answer, 'reason');

/** The newest pod of a PodList; there are several only while Kubernetes replaces a lost one. */
export function newestPod(answer: unknown): unknown {
  const born = (pod: unknown): string => text(pod, 'metadata', 'creationTimestamp');
  return list(answer, 'items').toSorted((a, b) => born(b).localeCompare(born(a)))[0];
}

const conditionOf = (thing: unknown, type: string): unknown =>
  list(thing, 'status', 'conditions').find((one) => text(one, 'type') === type && text(one, 'status') === 'True');

/** A user must fix these. */
const stuckReasons = [
  'ImagePullBackOff',
  'ErrImagePull',
  'ErrImageNeverPull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
];

/** @param pod - undefined while none exists. */
export function statusOf(job: unknown, pod: unknown): EngineStatus {
  if (conditionOf(job, 'Complete')) return { at: 'ended', how: { is: 'succeeded' } };
  const failed = conditionOf(job, 'Failed');
  if (failed) return { at: 'ended', how: endOf(pod, text(failed, 'reason')) };
  // The Job is being deleted: the attempt ends when its pod is gone.
  if (text(job, 'metadata', 'deletionTimestamp') !== '') return pod === undefined ? canceled : { at: 'running' };
  if (at(job, 'spec', 'suspend') === true) return { at: 'pending', why: 'Suspended', isStuck: false };
  if (pod === undefined) return { at: 'pending', why: '', isStuck: false };
  if (text(pod, 'status', 'phase') === 'Pending') return pendingOf(pod);
  // This covers the phases Succeeded and Failed: the Job's own condition follows.
  return { at: 'running' };
}
const canceled: EngineStatus = { at: 'ended', how: { is: 'canceled' } };

function pendingOf(pod: unknown): EngineStatus {
  for (const container of list(pod, 'status', 'containerStatuses')) {
    const reason = text(container, 'state', 'waiting', 'reason');
    if (reason === '' || reason === 'ContainerCreating' || reason === 'PodInitializing') continue;
    const message = text(container, 'state', 'waiting', 'message');
    return { at: 'pending', why: [reason, message].filter(Boolean).join(': '), isStuck: stuckReasons.includes(reason) };
  }
  const unscheduled = list(pod, 'status', 'conditions').find(
    (one) => text(one, 'type') === 'PodScheduled' && text(one, 'status') === 'False',
  );
  const why = [text(unscheduled, 'reason'), text(unscheduled, 'message')].filter(Boolean).join(': ');
  return { at: 'pending', why, isStuck: false };
}

/** Why a Job failed: the pod has the cause, the Job's own reason is mostly BackoffLimitExceeded. */
function endOf(pod: unknown, jobReason: string): EngineEnd {
  const podReason = text(pod, 'status', 'reason');
  if (jobReason === 'DeadlineExceeded' || podReason === 'DeadlineExceeded') return { is: 'timedOut' };
  const disruption = text(conditionOf(pod, 'DisruptionTarget'), 'reason');
  if (disruption !== '') return { is: 'lost', word: disruption };
  for (const container of list(pod, 'status', 'containerStatuses')) {
    const ended = at(container, 'state', 'terminated');
    if (ended === undefined) continue;
    if (text(ended, 'reason') === 'OOMKilled') return { is: 'outOfMemory' };
    const signal = whole(ended, 'signal') ?? 0;
    if (signal > 0) return { is: 'killed', signal };
    return { is: 'exited', code: whole(ended, 'exitCode') ?? 1 };
  }
  // Evicted, NodeLost, Preempting, UnexpectedAdmissionError, PodFailurePolicy …
  const words = [podReason || jobReason, text(pod, 'status', 'message')].filter(Boolean);
  return { is: 'lost', word: words.join(': ') || 'Failed' };
}
