import { useId, useState } from 'react';
import type { ReactNode } from 'react';
import { FormDialog, ModalDialog } from '../parts/dialogs.tsx';
import { TextField } from '../parts/fields.tsx';
import { Note } from '../parts/messages.tsx';
import { ProgressBar } from '../parts/badges.tsx';
import { formatCount } from '../view/quantities.ts';
import { uploadPlan } from '../view/upload-plan.ts';
import { useImageUploads } from './image-uploads.ts';
import type { BrowserFile, UploadState } from './image-uploads.ts';
import { isolateText } from '../view/user-text.ts';
import { UserText } from '../parts/user-text.tsx';

type Plan = ReturnType<typeof uploadPlan<BrowserFile>>;

interface AddImagesProps {
  datasetId: string;
  name: string;
  /** Files that were dropped on the page. */
  start: readonly BrowserFile[];
  onClose: () => void;
}

const chosen = (files: FileList | null): BrowserFile[] =>
  [...(files ?? [])].map((source) => ({
    source,
    name: source.name,
    path: source.webkitRelativePath,
    size: source.size,
  }));

/** Uploads labeled images from the user's disk into a dataset. */
export function AddImages({ datasetId, name, start: dropped, onClose }: AddImagesProps) {
  const [files, setFiles] = useState(dropped);
  const [label, setLabel] = useState('');
  const { state, start } = useImageUploads(datasetId);
  const plan = uploadPlan(files, label);
  const total = plan.uploads.length;
  if (state.at !== 'idle')
    return (
      <ModalDialog title={`Images for ${isolateText(name)}`} isOpen onClose={onClose}>
        <UploadProgress state={state} total={total} refused={plan.refused} onClose={onClose} />
      </ModalDialog>
    );
  return (
    <FormDialog
      title={`Add images to ${isolateText(name)}`}
      lead="JPEG, PNG or WebP. Ten images of each label are enough for a first model."
      verb="Upload"
      isDisabled={total === 0}
      onSubmit={() => void start(plan.uploads)}
      onClose={onClose}
    >
      <FileField
        label="A folder with one folder per label"
        isFolder
        onChange={setFiles}
        hint={
          <>
            The folder’s name becomes the label. Images in <code>test/LABEL</code> are kept for the evaluation. Images
            that the dataset has get the labels that are new.
          </>
        }
      />
      <FileField label="Or single images" onChange={setFiles} />
      <TextField label="Label of all of them" value={label} onChange={setLabel} placeholder="empty: by folder" />
      {files.length > 0 && <PlanNote plan={plan} />}
      {plan.annotations > 0 && (
        <Note tone="warn">
          <p>
            {formatCount(plan.annotations, 'file')} may hold labels and boxes, which are not read here. The command line
            reads YOLO, Pascal VOC and COCO: <code>platform dataset import {name} FOLDER</code>
          </p>
        </Note>
      )}
      <ExcludedFiles title="Left out" files={plan.refused} />
    </FormDialog>
  );
}

interface UploadProgressProps {
  state: UploadState;
  total: number;
  refused: Plan['refused'];
  onClose: () => void;
}
function UploadProgress({ state, total, refused, onClose }: UploadProgressProps) {
  const uploaded = state.done - state.failed.length - state.existed;
  const isDone = state.at === 'done';
  return (
    <>
      <p role="status">
        {isDone
          ? `${formatCount(uploaded, 'image')} uploaded.${state.existed > 0 ? ` ${state.existed} were there already and got the labels that are new.` : ''}`
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

/** The number of images that the upload will add, by label. */
const PlanNote = ({ plan: { uploads, labels } }: { plan: Plan }) => (
  <Note tone={uploads.length === 0 ? 'warn' : 'busy'} isLive>
    <p>
      {formatCount(uploads.length, 'image')}
      {labels.length > 0
        ? `: ${labels.map(([label, count]) => `${count} × ${isolateText(label)}`).join(', ')}`
        : uploads.length > 0 && ' without a label: they cannot be trained on'}
    </p>
  </Note>
);

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
