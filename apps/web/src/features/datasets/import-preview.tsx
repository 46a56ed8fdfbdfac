import { importFormats, formatNames } from '@platform/dataset-files/formats';
import { ledgerCsv } from '@platform/dataset-files/ledger';
import type { ImportFormat } from '@platform/dataset-files/formats';
import type { ImportPlan, PlannedImage } from '@platform/dataset-files/planned-images';
import { ledgerGroups, reasonOf } from '@platform/dataset-files/summary';
import type { LedgerGroup } from '@platform/dataset-files/summary';
import { useEffect, useMemo, useState } from 'react';
import { SelectField } from '../../ui/fields.tsx';
import { Note } from '../../ui/messages.tsx';
import { UserText } from '../../ui/isolated-text.tsx';
import { formatCount, formatGrouped } from '../../ui/quantities.ts';
import { importSamples } from './import-samples.ts';
import { isolateText } from '../../ui/user-text.ts';
import '../../ui/style/training.css';

const formatOptions = importFormats.map((value) => ({
  value,
  text:
    value === 'auto' ? 'Decide by the files' : value === 'folders' ? 'Folders are labels' : formatNames[value].title,
}));

/** The user chooses when the files do not decide. */
export const FormatField = ({ value, onChange }: { value: ImportFormat; onChange: (to: ImportFormat) => void }) => (
  <SelectField
    label="Format of labels and boxes"
    value={value}
    options={formatOptions}
    onChange={(to) => onChange(importFormats.find((one) => one === to) ?? 'auto')}
  />
);

interface ImportPreviewProps {
  plan: ImportPlan;
  files: ReadonlyMap<string, { source: Blob }>;
}
/** What an upload would store, before anything is stored. */
export const ImportPreview = ({ plan, files }: ImportPreviewProps) => (
  <>
    {plan.refusal ? (
      <Note tone="bad" isLive>
        <p>
          <UserText text={plan.refusal.problem} />. Add what is missing, or choose the format.
        </p>
      </Note>
    ) : (
      <PlanNote plan={plan} />
    )}
    <ImageSamples images={plan.images} files={files} />
    <LedgerNotes groups={ledgerGroups(plan.ledger)} warnings={plan.ledger.warnings} />
    <LedgerDownload plan={plan} />
  </>
);

/** The number of images that the upload will add, by label. */
function PlanNote({ plan: { format, images, counts } }: { plan: ImportPlan }) {
  const labels = [...counts].flatMap(([label, { images: whole, boxes }]) => [
    ...(whole > 0 ? [`${whole} × ${isolateText(label)}`] : []),
    ...(boxes > 0 ? [`${formatCount(boxes, 'box', 'boxes')} ${isolateText(label)}`] : []),
  ]);
  return (
    <Note tone={images.length === 0 ? 'warn' : 'busy'} isLive>
      <p>
        {formatCount(images.length, 'image')}
        {labels.length > 0
          ? `: ${labels.join(', ')}`
          : images.length > 0 && ' without a label: they cannot be trained on'}
      </p>
      {format !== 'folders' && (
        <p className="small soft">
          <UserText text={format} />
        </p>
      )}
    </Note>
  );
}

/** Every file and annotation: the page shows the reasons only. */
function LedgerDownload({ plan: { ledger } }: { plan: ImportPlan }) {
  const { seen, used, changed, leftOut, invalid } = ledger.counts;
  const file = useMemo(() => new Blob([ledgerCsv(ledger)], { type: 'text/csv' }), [ledger]);
  const url = useObjectUrl(file);
  return (
    <p className="small soft">
      {formatCount(seen, 'annotation')}: {formatGrouped(used)} used, {formatGrouped(changed)} of them changed,{' '}
      {formatGrouped(leftOut + invalid)} left out.{' '}
      {url !== undefined && (
        <a href={url} download="import.csv">
          Every file and annotation as CSV
        </a>
      )}
    </p>
  );
}

/** A URL of the file while the component shows it. */
function useObjectUrl(file: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!file) return undefined;
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return url;
}

const mostSamples = 10;

function ImageSamples({ images, files }: { images: readonly PlannedImage[]; files: ImportPreviewProps['files'] }) {
  const samples = importSamples(images, mostSamples);
  return (
    samples.length > 0 && (
      <ul className="import-samples">
        {samples.map((image) => (
          <ImageSample key={image.path} image={image} file={files.get(image.path)?.source} />
        ))}
      </ul>
    )
  );
}

function ImageSample({ image, file }: { image: PlannedImage; file: Blob | undefined }) {
  const url = useObjectUrl(file);
  const names = [...new Set([...image.labels, ...image.boxes.map(({ label }) => label)])].map(isolateText).join(', ');
  return (
    <li>
      <div className="import-sample">
        {url !== undefined && <img src={url} alt={`${isolateText(image.fileName)}: ${names || 'no label'}`} />}
        {image.boxes.map(({ xMin, yMin, xMax, yMax }, at) => (
          <span
            key={at}
            className="import-box"
            style={{
              insetInlineStart: `${xMin * 100}%`,
              top: `${yMin * 100}%`,
              width: `${(xMax - xMin) * 100}%`,
              height: `${(yMax - yMin) * 100}%`,
            }}
          />
        ))}
      </div>
      <p className="small soft">{names || 'no label'}</p>
    </li>
  );
}

const titles: readonly [outcome: LedgerGroup['outcome'], title: string][] = [
  ['invalid', 'Cannot be understood'],
  ['left out', 'Left out'],
  ['changed', 'Changed'],
  ['not data', 'Not used'],
];

/** The account of files and annotations that are not stored as they are. */
function LedgerNotes({ groups, warnings }: { groups: readonly LedgerGroup[]; warnings: readonly string[] }) {
  const known = titles
    .map(([outcome, title]) => ({ title, outcome, own: groups.filter((group) => group.outcome === outcome) }))
    .filter(({ own }) => own.length > 0);
  return (
    <>
      {warnings.length > 0 && (
        <Note tone="warn">
          <p>Check</p>
          <ul className="small soft">
            {warnings.map((warning) => (
              <li key={warning}>
                <UserText text={warning} />
              </li>
            ))}
          </ul>
        </Note>
      )}
      {known.map(({ title, outcome, own }) => (
        <Note key={outcome} tone={outcome === 'invalid' ? 'bad' : outcome === 'left out' ? 'warn' : 'quiet'}>
          <p>{title}</p>
          <ul className="small soft">
            {own.map((group) => (
              <li key={group.reason}>
                <UserText text={`${reasonOf(group)}.`} />
              </li>
            ))}
          </ul>
        </Note>
      ))}
    </>
  );
}
