import { useId, useState } from 'react';
import { FormFooter, FormDialog } from '../parts/dialogs.tsx';
import { Note } from '../parts/messages.tsx';
import { ProgressBar } from '../parts/badges.tsx';
import { formatCount } from '../view/quantities.ts';
import { uploadPlan } from '../view/upload-plan.ts';
import { useImageUploads } from './image-uploads.ts';
import type { BrowserFile } from './image-uploads.ts';
import { isolateText } from '../view/user-text.ts';
import { UserText } from '../parts/user-text.tsx';

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
  const field = useId();
  const [files, setFiles] = useState(dropped);
  const [label, setLabel] = useState('');
  const { state, start } = useImageUploads(datasetId);
  const plan = uploadPlan(files, label);
  const total = plan.uploads.length;
  const uploaded = state.done - state.failed.length - state.existed;
  if (state.at !== 'idle') {
    return (
      <FormDialog title={`Images for ${isolateText(name)}`} isOpen onClose={onClose}>
        <p role="status">
          {state.at === 'done'
            ? `${formatCount(uploaded, 'image')} uploaded.${state.existed > 0 ? ` ${state.existed} were there already and got the labels that are new.` : ''}`
            : `${state.done} of ${formatCount(total, 'image')} …`}
        </p>
        <ProgressBar share={total === 0 ? 1 : state.done / total} label="Progress of the upload" />
        <Left title="Not uploaded" files={[...state.failed, ...plan.refused]} />
        <div className="dialog-footer">
          <button type="button" className={state.at === 'done' ? 'button button-main' : 'button'} onClick={onClose}>
            {state.at === 'done' ? 'Close' : 'Stop'}
          </button>
        </div>
      </FormDialog>
    );
  }
  return (
    <FormDialog
      title={`Add images to ${isolateText(name)}`}
      lead="JPEG, PNG or WebP. Ten images of each label are enough for a first model."
      isOpen
      onClose={onClose}
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void start(plan.uploads);
        }}
      >
        <div className="field">
          <label htmlFor={`${field}-folder`}>A folder with one folder per label</label>
          <input
            id={`${field}-folder`}
            className="input input-file"
            type="file"
            multiple
            ref={(input) => input?.setAttribute('webkitdirectory', '')}
            onChange={(event) => setFiles(chosen(event.target.files))}
          />
          <p className="field-hint">
            The folder’s name becomes the label. Images in <code>test/LABEL</code> are kept for the evaluation. Images
            that the dataset has get the labels that are new.
          </p>
        </div>
        <div className="field">
          <label htmlFor={`${field}-files`}>Or single images</label>
          <input
            id={`${field}-files`}
            className="input input-file"
            type="file"
            multiple
            accept="image/jpeg,image/png,image/webp"
            onChange={(event) => setFiles(chosen(event.target.files))}
          />
        </div>
        <div className="field">
          <label htmlFor={`${field}-label`}>Label of all of them</label>
          <input
            id={`${field}-label`}
            className="input"
            value={label}
            autoComplete="off"
            onChange={(event) => setLabel(event.target.value)}
            placeholder="empty: by folder"
          />
        </div>
        {files.length > 0 && (
          <Note tone={total === 0 ? 'warn' : 'busy'} isLive>
            <p>
              {formatCount(total, 'image')}
              {plan.labels.length > 0
                ? `: ${plan.labels.map(([one, count]) => `${count} × ${isolateText(one)}`).join(', ')}`
                : total > 0 && ' without a label: they cannot be trained on'}
            </p>
          </Note>
        )}
        {plan.annotations > 0 && (
          <Note tone="warn">
            <p>
              {formatCount(plan.annotations, 'file')} may hold labels and boxes, which are not read here. The command
              line reads YOLO, Pascal VOC and COCO: <code>platform dataset import {name} FOLDER</code>
            </p>
          </Note>
        )}
        <Left title="Left out" files={plan.refused} />
        <FormFooter verb="Upload" isDisabled={total === 0} onClose={onClose} />
      </form>
    </FormDialog>
  );
}

/** More rows add no information. */
const mostNames = 8;
function Left({ title, files }: { title: string; files: readonly { name: string; reason: string }[] }) {
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
