import { Note } from '../../ui/messages.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { assessReadiness } from '../../entities/dataset/dataset-readiness.ts';
import { formatCount } from '../../ui/quantities.ts';
import { AlikeLabels } from './alike-labels-note.tsx';
import { useLabelCounts, useLabelled } from '../../entities/dataset/label-counts.ts';
import '../../ui/style/training.css';

/** Images per label, and the remaining requirements before a training can start. */
export function DatasetCounts({ datasetId, onMerged }: { datasetId: string; onMerged: () => void }) {
  const { organizationId } = useSession().organization;
  const tags = useLabelCounts(organizationId, datasetId, 'tags').data;
  const boxes = useLabelCounts(organizationId, datasetId, 'boxes').data;
  const names = tags?.labels.map(({ label }) => label) ?? [];
  const labelled = useLabelled(organizationId, datasetId, 'tags', names);
  if (!tags || !boxes || tags.images === 0) return null;
  const hasBoxes = boxes.labels.length > 0;
  const isOnlyBoxes = hasBoxes && tags.labels.length === 0;
  const readiness = isOnlyBoxes
    ? assessReadiness('object_detection', boxes, new Set(boxes.labels.map(({ label }) => label)), undefined)
    : assessReadiness('single_label_classification', tags, new Set(names), labelled);
  const byLabel = [...new Set([...names, ...boxes.labels.map(({ label }) => label)])].toSorted();
  return (
    <details className="card" open={byLabel.length <= 12}>
      <summary className="card-head">
        <h2>Labels</h2>
        <span className="soft small">
          {formatCount(byLabel.length, 'label')}
          {labelled !== undefined && labelled < tags.images && ` · ${tags.images - labelled} without a label`}
        </span>
      </summary>
      <div className="card-body">
        <AlikeLabels
          organizationId={organizationId}
          datasetId={datasetId}
          labels={[...tags.labels, ...boxes.labels]}
          onMerged={onMerged}
        />
        {byLabel.length > 0 && <CountTable tags={tags} boxes={boxes} labels={byLabel} />}
        {[...readiness.problems, ...readiness.advice].map((text) => (
          <Note key={text} tone={readiness.problems.includes(text) ? 'warn' : 'busy'}>
            <p>{text}</p>
          </Note>
        ))}
      </div>
    </details>
  );
}

type Counts = NonNullable<ReturnType<typeof useLabelCounts>['data']>;

function CountTable({ tags, boxes, labels }: { tags: Counts; boxes: Counts; labels: readonly string[] }) {
  const hasBoxes = boxes.labels.length > 0;
  const most = Math.max(1, ...tags.labels.map((one) => one.images), ...boxes.labels.map((one) => one.images));
  const of = (from: Counts, label: string): number => from.labels.find((one) => one.label === label)?.images ?? 0;
  return (
    <table className="label-counts">
      <thead className="hidden-text">
        <tr>
          <th scope="col">Label</th>
          <th scope="col">Share</th>
          <th scope="col">Images</th>
        </tr>
      </thead>
      <tbody>
        {labels.map((label) => (
          <tr key={label}>
            <th scope="row" className="break">
              {label}
            </th>
            <td aria-hidden="true">
              <span className="bar">
                <span style={{ width: `${(Math.max(of(tags, label), of(boxes, label)) / most) * 100}%` }} />
              </span>
            </td>
            <td className="number">
              {[
                of(tags, label) > 0 || !hasBoxes ? String(of(tags, label)) : '',
                of(boxes, label) > 0 ? `${of(boxes, label)} with boxes` : '',
              ]
                .filter((part) => part !== '')
                .join(' · ')}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
