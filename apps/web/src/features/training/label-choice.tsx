import type { BuiltInKind } from '@platform/contract/job/model-kinds';
import { modelKinds } from '@platform/contract/job/model-kinds';
import { Link } from '@tanstack/react-router';
import { useSession } from '../../entities/session/session.tsx';
import { assessReadiness } from '../../entities/dataset/dataset-readiness.ts';
import type { Readiness } from '../../entities/dataset/dataset-readiness.ts';
import { useLabelCounts, useLabelled } from '../../entities/dataset/label-counts.ts';
import { SplitPreview } from './split-card.tsx';

/** The labels of a dataset that a training of this kind uses, and whether they suffice for it. */
export function useLabelChoice(datasetId: string, kind: BuiltInKind, excluded: ReadonlySet<string>) {
  const { organization } = useSession();
  const { organizationId } = organization;
  const { labelSource } = modelKinds[kind];
  const { data: counts, error } = useLabelCounts(organizationId, datasetId, labelSource);
  const chosen = (counts?.labels ?? []).map(({ label }) => label).filter((label) => !excluded.has(label));
  const labelled = useLabelled(organizationId, datasetId, labelSource, chosen);
  return {
    kind,
    labelSource,
    labels: counts?.labels,
    chosen,
    readiness: counts && assessReadiness(kind, counts, new Set(chosen), labelled),
    error,
  };
}

interface LabelChoiceProps {
  datasetId: string;
  choice: ReturnType<typeof useLabelChoice>;
  onToggle: (label: string) => void;
}
export function LabelChoice({ datasetId, choice, onToggle }: LabelChoiceProps) {
  const { kind, labels, labelSource, readiness, error } = choice;
  const chosen = new Set(choice.chosen);
  return (
    <>
      <fieldset className="fields">
        <legend>Labels</legend>
        {labels === undefined ? (
          !error && <p className="soft small">Counting …</p>
        ) : labels.length === 0 ? (
          <p className="soft small">
            {labelSource === 'boxes'
              ? 'No image of this dataset has a box yet: '
              : 'This dataset has no labeled images yet: '}
            <Link to="/datasets/$datasetId" params={{ datasetId }}>
              add some
            </Link>
            .
          </p>
        ) : (
          <div className="row">
            {labels.map(({ label, images }) => (
              <label key={label} className="choice">
                <input type="checkbox" checked={chosen.has(label)} onChange={() => onToggle(label)} />
                {label} <span className="soft numbers">{images}</span>
              </label>
            ))}
          </div>
        )}
        {readiness && labels && labels.length > 0 && <ReadinessHints readiness={readiness} />}
      </fieldset>
      {readiness?.problems.length === 0 && <SplitPreview datasetId={datasetId} kind={kind} labels={choice.chosen} />}
    </>
  );
}

const ReadinessHints = ({ readiness: { problems, advice } }: { readiness: Readiness }) => (
  <div className="stack-tight" aria-live="polite">
    {problems.map((text) => (
      <p key={text} className="field-wrong">
        {text}
      </p>
    ))}
    {advice.map((text) => (
      <p key={text} className="field-hint">
        {text}
      </p>
    ))}
  </div>
);
