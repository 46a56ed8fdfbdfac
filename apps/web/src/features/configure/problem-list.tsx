import type { Ref } from 'react';
import { CheckIcon } from '../../ui/icons.tsx';
import { Dot } from '../../ui/badges.tsx';
import { isError } from './config-problems.ts';
import type { ConfigProblem } from './config-problems.ts';
import { formatCount } from '../../ui/quantities.ts';

interface ProblemListProps {
  ref: Ref<HTMLElement>;
  problems: readonly ConfigProblem[];
  onShow: (problem: ConfigProblem) => void;
}

/** Every problem by path; a click moves the cursor there. */
export function ProblemList({ ref, problems, onShow }: ProblemListProps) {
  const wrong = problems.filter(isError).length;
  const reported = problems.filter((one) => one.isReported).length;
  return (
    <section className="card problems" aria-label="Problems" ref={ref} tabIndex={-1}>
      <div className="card-head">
        <h2>Problems</h2>
        <span className="soft small" role="status">
          {problems.length === 0
            ? 'none'
            : wrong === 0
              ? [
                  problems.length > reported && formatCount(problems.length - reported, 'remark'),
                  reported > 0 && `${reported} reported by the machine`,
                ]
                  .filter(Boolean)
                  .join(', ')
              : `${formatCount(wrong, 'error')}: it cannot be saved`}
        </span>
      </div>
      {problems.length === 0 ? (
        <p className="problems-none">
          <CheckIcon /> The configuration is valid.
        </p>
      ) : (
        <ul>
          {problems.map((problem, at) => (
            <li key={`${problem.where} ${at}`}>
              <button type="button" className="problem" onClick={() => onShow(problem)}>
                <Dot tone={problem.tone} />
                <span className="stack-tight">
                  <span className="mono small break">{problem.where}</span>
                  <span>
                    <span className={problem.isReported ? 'badge is-bad' : 'hidden-text'}>
                      {problem.isReported ? 'on the machine' : isError(problem) ? 'Error: ' : 'Remark: '}
                    </span>{' '}
                    {problem.message} {problem.remedy && <span className="soft">{problem.remedy}</span>}
                  </span>
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
