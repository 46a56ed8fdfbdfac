import type { ImportFormat } from '@platform/dataset-files/formats';
import { hasManyMissing, withLabels } from '@platform/dataset-files/planned-images';
import type { ImportPlan } from '@platform/dataset-files/planned-images';
import { useId, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { FormDialog, ModalDialog } from '../../ui/dialogs.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Loading, Note } from '../../ui/messages.tsx';
import { ProgressBar } from '../../ui/badges.tsx';
import { filesByPath } from './file-source.ts';
import { formatCount } from '../../ui/quantities.ts';
import { isolateText } from '../../ui/user-text.ts';
import { UserText } from '../../ui/isolated-text.tsx';
import { useImageUploads } from './image-uploads.ts';
import type { BrowserFile, UploadState } from './image-uploads.ts';
import { useImportPlan } from './import-plan.ts';
import { FormatField, ImportPreview } from './import-preview.tsx';
import { unfinishedUpload } from './upload-records.ts';

interface AddImagesProps {
  datasetId: string;
  name: string;
  /** Files that were dropped on the page. */
  start: readonly BrowserFile[];
  onClose: () => void;
}

const chosen = (files: FileList | null): BrowserFile[] =>
  [...(files ?? [])].map((source) => ({ source, name: source.name, path: source.webkitRelativePath }));

/** Uploads labeled images from the user's disk into a dataset. */
export function AddImages({ datasetId, name, start: dropped, onClose }: AddImagesProps) {
  const [files, setFiles] = useState(dropped);
  const [label, setLabel] = useState('');
  const [format, setFormat] = useState<ImportFormat>('auto');
  const [isLossAccepted, setLossAccepted] = useState(false);
  const { state, start } = useImageUploads(datasetId);
  const byPath = useMemo(() => filesByPath(files), [files]);
  const blobs = useMemo(() => new Map([...byPath].map(([path, { source }]) => [path, source])), [byPath]);
  const answer = useImportPlan(blobs, format);
  const read = answer && 'plan' in answer ? answer.plan : undefined;
  const plan = read && withLabels(read, label.trim() === '' ? undefined : [label.trim()]);
  const isAsking = plan !== undefined && (plan.ledger.counts.invalid > 0 || hasManyMissing(plan));
  const choose = (next: readonly BrowserFile[]): void => {
    setFiles(next);
    setLossAccepted(false);
  };
  if (plan && state.at !== 'idle')
    return (
      <ModalDialog title={`Images for ${isolateText(name)}`} isOpen onClose={onClose}>
        <UploadProgress state={state} total={plan.images.length} refused={leftOut(plan)} onClose={onClose} />
      </ModalDialog>
    );
  return (
    <FormDialog
      title={`Add images to ${isolateText(name)}`}
      lead="JPEG, PNG or WebP, with labels and boxes as other tools store them. Ten images of each label are enough for a first model."
      verb="Upload"
      isWide
      isDisabled={plan === undefined || plan.images.length === 0 || (isAsking && !isLossAccepted)}
      onSubmit={() => void start((plan?.images ?? []).flatMap((image) => withFile(image, byPath)))}
      onClose={onClose}
    >
      <UnfinishedUpload datasetId={datasetId} />
      <ChosenFiles onChange={choose} />
      <TextField
        label="Label of all of them"
        value={label}
        onChange={setLabel}
        placeholder="empty: by folder or file"
      />
      <FormatField value={format} onChange={setFormat} />
      {files.length > 0 && answer === undefined && <Loading text={`Reading ${formatCount(files.length, 'file')} …`} />}
      {answer && 'problem' in answer && (
        <Note tone="bad" isLive>
          <p>The files could not be read: {answer.problem}. Choose them again.</p>
        </Note>
      )}
      {plan && <ImportPreview plan={plan} files={byPath} />}
      {isAsking && (
        <label className="choice">
          <input type="checkbox" checked={isLossAccepted} onChange={(event) => setLossAccepted(event.target.checked)} />
          Upload without what is missing or cannot be understood
        </label>
      )}
    </FormDialog>
  );
}

const withFile = (image: ImportPlan['images'][number], files: ReadonlyMap<string, BrowserFile>) => {
  const file = files.get(image.path);
  return file ? [{ image, file }] : [];
};

const leftOut = ({ ledger }: ImportPlan): { name: string; reason: string }[] =>
  ledger.files.flatMap(({ path, use, reason }) => (use === 'left out' ? [{ name: path, reason: reason ?? '' }] : []));

function UnfinishedUpload({ datasetId }: { datasetId: string }) {
  const [record] = useState(() => unfinishedUpload(datasetId));
  if (!record) return null;
  return (
    <Note tone="quiet">
      <p>
        An upload ended after {record.done.size} of {formatCount(record.total, 'image')}. Choose the same files again:
        it goes on with the rest.
      </p>
    </Note>
  );
}

const ChosenFiles = ({ onChange }: { onChange: (files: BrowserFile[]) => void }) => (
  <>
    <FileField
      label="A folder with its images and annotations"
      isFolder
      onChange={onChange}
      hint={
        <>
          COCO, YOLO, Pascal VOC, CVAT, Label Studio, Create ML, CSV and SageMaker, or one folder per label. Images in{' '}
          <code>test/LABEL</code> are kept for the evaluation. Images that the dataset has get the labels and boxes that
          are new.
        </>
      }
    />
    <FileField label="Or single images" onChange={onChange} />
  </>
);

interface UploadProgressProps {
  state: UploadState;
  total: number;
  refused: readonly { name: string; reason: string }[];
  onClose: () => void;
}
function UploadProgress({ state, total, refused, onClose }: UploadProgressProps) {
  const uploaded = state.done - state.failed.length - state.existed - state.before;
  const isDone = state.at === 'done';
  return (
    <>
      <p role="status">
        {isDone
          ? `${formatCount(uploaded, 'image')} uploaded.${state.existed > 0 ? ` ${state.existed} were there already and got the labels that are new.` : ''}${state.before > 0 ? ` ${formatCount(state.before, 'image')} had been uploaded before.` : ''}`
          : `${state.done} of ${formatCount(total, 'image')} …`}
      </p>
      <ProgressBar share={total === 0 ? 1 : state.done / total} label="Progress of the upload" />
      <ExcludedFiles title="Not uploaded" files={[...state.failed, ...refused]} />
      <div className="dialog-footer">
        <button type="button" className={isDone ? 'button button-main' : 'button'} onClick={onClose}>
          {isDone ? 'Close' : 'Stop'}
        </button>
      </div>
    </>
  );
}

interface FileFieldProps {
  label: string;
  onChange: (files: BrowserFile[]) => void;
  /** The user chooses a folder with all that it contains; otherwise images. */
  isFolder?: boolean;
  hint?: ReactNode;
}
function FileField({ label, onChange, isFolder = false, hint }: FileFieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input input-file"
        type="file"
        multiple
        {...(isFolder
          ? { ref: (input: HTMLInputElement | null) => input?.setAttribute('webkitdirectory', '') }
          : { accept: 'image/jpeg,image/png,image/webp' })}
        onChange={(event) => onChange(chosen(event.target.files))}
      />
      {hint !== undefined && <p className="field-hint">{hint}</p>}
    </div>
  );
}

/** More rows add no information. */
const mostNames = 8;
function ExcludedFiles({ title, files }: { title: string; files: readonly { name: string; reason: string }[] }) {
  if (files.length === 0) return null;
  return (
    <Note tone="warn">
      <p>
        {title}: {formatCount(files.length, 'file')}
      </p>
      <ul className="small soft">
        {files.slice(0, mostNames).map(({ name, reason }, at) => (
          <li key={`${at} ${name}`}>
            <UserText text={name} />: {reason}
          </li>
        ))}
      </ul>
    </Note>
  );
}
