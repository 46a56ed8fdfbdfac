import type { FleetNumbers } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { Link } from '@tanstack/react-router';
import { CheckIcon } from '../../ui/icons.tsx';

export interface Step {
  readonly title: string;
  readonly text: string;
  readonly button: string;
  readonly to: '/machines/add' | '/datasets' | '/training/new';
  /** As measured. */
  readonly isDone: boolean;
}

export const stepsOf = ({ machines, awaiting, images, allJobs }: FleetNumbers): Step[] => [
  {
    title: 'Add a machine',
    text: 'Paste one line on it; it checks in within a minute.',
    button: 'Add a machine',
    to: '/machines/add',
    isDone: machines - awaiting > 0,
  },
  {
    title: 'Add images',
    text: 'Drop a folder with or without labels; each file is accounted for.',
    button: 'Add images',
    to: '/datasets',
    isDone: images > 0n,
  },
  {
    title: 'Train a model',
    text: 'Choose a dataset; the model can then run on your machines.',
    button: 'Train a model',
    to: '/training/new',
    isDone: allJobs > 0n,
  },
];

/** The way from an empty installation to a model; each step ticks off when it is measured as done. */
export function FirstSteps({ steps }: { steps: readonly Step[] }) {
  if (steps.every(({ isDone }) => isDone)) return null;
  const next = steps.findIndex(({ isDone }) => !isDone);
  return (
    <section className="card" aria-labelledby="first-steps">
      <div className="card-head">
        <h2 id="first-steps">First steps</h2>
        <span className="small soft">
          {steps.filter(({ isDone }) => isDone).length} of {steps.length} done
        </span>
      </div>
      <ol className="first-steps">
        {steps.map(({ title, text, button, to, isDone }, index) => (
          <li key={to} className="first-step">
            <span className={isDone ? 'step-mark is-good' : 'step-mark'}>
              {isDone ? <CheckIcon /> : index + 1}
              {isDone && <span className="hidden-text">Done: </span>}
            </span>
            <div>
              <strong>{title}</strong>
              <p className="small soft">{text}</p>
            </div>
            {!isDone && (
              <Link to={to} className={index === next ? 'button button-main' : 'button'}>
                {button}
              </Link>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
