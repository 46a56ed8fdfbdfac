import type { BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { DatasetIcon } from '../../ui/icons.tsx';
import { EmptyState, Loading } from '../../ui/messages.tsx';
import { labelsOf } from './image-labels.ts';
import type { TagChoice } from './image-labels.ts';
import { formatCount } from '../../ui/quantities.ts';
import { toggleItem } from '../../entities/dataset/selection.ts';
import { bothMoments, msOf } from '../../ui/times.ts';
import { ImageGrid } from './image-grid.tsx';
import { isolateText } from '../../ui/user-text.ts';
import '../../ui/style/training.css';

interface TagBarProps {
  choices: readonly TagChoice[];
  chosen: TagChoice | undefined;
  onChoose: (choice: TagChoice | undefined) => void;
}
/** Filters the images by a label or tag. */
export function TagBar({ choices, chosen, onChoose }: TagBarProps) {
  if (choices.length === 0) return null;
  return (
    <fieldset className="fields">
      <legend className="hidden-text">Show images with the label or tag</legend>
      <div className="row">
        {[undefined, ...choices].map((choice) => (
          <label key={`${choice?.kind} ${choice?.tag}`} className="choice choice-plain">
            <input
              type="radio"
              name="tag"
              className="hidden-text"
              checked={choice?.tag === chosen?.tag && choice?.kind === chosen?.kind}
              onChange={() => onChoose(choice)}
            />
            {choice?.tag ?? 'all'}
            {choice?.kind === 'capture' && <span className="soft small"> capture tag</span>}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface ImageListProps {
  /** Undefined while the first page loads. */
  images: readonly BinaryMetadata[] | undefined;
  datasetId: string;
  selected: ReadonlySet<string>;
  onSelect: (ids: ReadonlySet<string>) => void;
  onAdd: () => void;
  /** Called when the last row comes near the window. */
  onEnd: () => void;
}
export function ImageList({ images, datasetId, selected, onSelect, onAdd, onEnd }: ImageListProps) {
  if (images === undefined) return <Loading />;
  if (images.length === 0) return <NoImages onAdd={onAdd} />;
  return (
    <>
      <SelectAll ids={images.map((image) => image.binaryDataId)} onSelect={onSelect} />
      <ImageGrid count={images.length} onEnd={onEnd}>
        {(index) => {
          const image = images[index];
          return (
            image && (
              <DatasetImage
                key={image.binaryDataId}
                image={image}
                place={index + 1}
                datasetId={datasetId}
                isSelected={selected.has(image.binaryDataId)}
                onToggle={() => onSelect(toggleItem(selected, image.binaryDataId))}
              />
            )
          );
        }}
      </ImageGrid>
    </>
  );
}

interface SelectAllProps {
  ids: readonly string[];
  onSelect: (ids: ReadonlySet<string>) => void;
}
const SelectAll = ({ ids, onSelect }: SelectAllProps) => (
  <div className="row">
    <button type="button" className="button button-small" onClick={() => onSelect(new Set(ids))}>
      Select all shown ({ids.length})
    </button>
    <span className="soft small">Drop files or folders anywhere to add them.</span>
  </div>
);

const NoImages = ({ onAdd }: { onAdd: () => void }) => (
  <div className="card">
    <EmptyState icon={<DatasetIcon />} title="No images">
      <p>Add a folder that has one folder of images per label, or single images.</p>
      <button type="button" className="button" onClick={onAdd}>
        Add images
      </button>
    </EmptyState>
  </div>
);

interface DatasetImageProps {
  image: BinaryMetadata;
  /** From 1, among all of the dataset. */
  place: number;
  datasetId: string;
  isSelected: boolean;
  onToggle: () => void;
}
function DatasetImage({ image, place, datasetId, isSelected, onToggle }: DatasetImageProps) {
  const labels = labelsOf(image);
  const boxes = image.annotations?.bboxes.length ?? 0;
  const taken = msOf(image.timeRequested) ?? msOf(image.timeReceived);
  const [isBroken, setBroken] = useState(false);
  const name = image.fileName || image.binaryDataId;
  return (
    <li className={isSelected ? 'image image-selected' : 'image'} aria-posinset={place} aria-setsize={-1}>
      <Link to="/datasets/$datasetId/image" params={{ datasetId }} search={{ id: image.binaryDataId }} preload={false}>
        {isBroken || image.imageProblem !== '' ? (
          <span className="image-broken small soft">
            {name} {image.imageProblem || 'cannot be shown'}
          </span>
        ) : (
          <img
            src={`/data/${image.binaryDataId}?width=200`}
            alt={`${name}${labels.length > 0 ? `, labeled ${labels.map(isolateText).join(', ')}` : ''}`}
            loading="lazy"
            width={200}
            height={200}
            onError={() => setBroken(true)}
          />
        )}
      </Link>
      <label className="small" title={`${name}${taken === undefined ? '' : `\n${bothMoments(taken)}`}`}>
        <input type="checkbox" checked={isSelected} onChange={onToggle} aria-label={`Select ${isolateText(name)}`} />
        <span>
          {labels.length > 0 ? labels.map(isolateText).join(', ') : <span className="soft">no label</span>}
          {image.split !== '' && <span className="soft"> · {image.split}</span>}
          {boxes > 0 && <span className="soft"> · {formatCount(boxes, 'box', 'boxes')}</span>}
        </span>
      </label>
    </li>
  );
}
