import { useEffect, useRef, useState } from 'react';
import type { PointerEvent, RefObject } from 'react';
import { editBox } from '../../../entities/image/boxes.ts';
import type { LabelImage } from './label-edits.ts';
import type { Labelling } from './labelling.ts';
import { percent } from '../../../ui/quantities.ts';
import { openSuggestions } from './suggestions.ts';
import { isolateText } from '../../../ui/user-text.ts';
import { BoxCanvas } from './box-canvas.tsx';
import { newUuid } from './labelling-state.ts';
import type { LabellingPage } from './labelling-state.ts';

const zoomStep = 1.5;
const largest = 16;
/** Share of the visible part that a key pans by. */
const panShare = 0.25;

export interface Zoom {
  /** 1: the image fits. */
  readonly factor: number;
  readonly larger: () => void;
  readonly smaller: () => void;
  readonly fit: () => void;
  readonly pan: (x: number, y: number) => void;
  readonly stage: RefObject<HTMLDivElement | null>;
}

/** Zoom and pan of the image; the middle of the view stays. */
export function useZoom(): Zoom {
  const [factor, setFactor] = useState(1);
  const stage = useRef<HTMLDivElement>(null);
  const zoomTo = (next: number): void => {
    const bounded = Math.min(largest, Math.max(1, next));
    const area = stage.current;
    const share = area && {
      x: (area.scrollLeft + area.clientWidth / 2) / area.scrollWidth,
      y: (area.scrollTop + area.clientHeight / 2) / area.scrollHeight,
    };
    setFactor(bounded);
    if (!area || !share) return;
    requestAnimationFrame(() => {
      area.scrollLeft = share.x * area.scrollWidth - area.clientWidth / 2;
      area.scrollTop = share.y * area.scrollHeight - area.clientHeight / 2;
    });
  };
  const wheel = useRef(zoomTo);
  useEffect(() => {
    wheel.current = (next) => zoomTo(factor * next);
  });
  useEffect(() => {
    const area = stage.current;
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      wheel.current(event.deltaY < 0 ? zoomStep : 1 / zoomStep);
    };
    area?.addEventListener('wheel', onWheel, { passive: false });
    return () => area?.removeEventListener('wheel', onWheel);
  }, []);
  return {
    factor,
    larger: () => zoomTo(factor * zoomStep),
    smaller: () => zoomTo(factor / zoomStep),
    fit: () => zoomTo(1),
    pan: (x, y) => {
      const area = stage.current;
      area?.scrollBy(x * panShare * area.clientWidth, y * panShare * area.clientHeight);
    },
    stage,
  };
}

interface LabelStageProps {
  page: LabellingPage;
  state: Labelling;
  image: LabelImage;
  zoom: Zoom;
  isHidden: boolean;
}
/** The image, with its boxes in that mode. */
export function LabelStage({ page, state, image, zoom, isHidden }: LabelStageProps) {
  const { mode, boxLabel, selected } = state;
  const widthOf = (ratio: number): string => `calc(min(100cqw, 100cqh * ${ratio.toFixed(4)}) * ${zoom.factor})`;
  return (
    <div className="label-stage-frame">
      {/* The keyboard pans with Shift and arrows wherever the focus is; the focus is for screen readers. */}
      <div className="label-stage" ref={zoom.stage} tabIndex={0} role="region" aria-label="Image">
        {mode === 'boxes' ? (
          <BoxCanvas
            key={image.id}
            source={`/data/${image.id}`}
            name={image.name}
            boxes={isHidden ? [] : image.boxes}
            suggested={isHidden ? [] : openSuggestions(image, mode)}
            selected={selected}
            onSelect={(box) => page.run({ do: 'select', box })}
            onDraw={(frame) => {
              if (boxLabel === '') return;
              page.run({ do: 'box', edit: { do: 'add', box: { id: newUuid(), label: boxLabel, ...frame } } });
            }}
            onChange={(box, frame) =>
              page.run({ do: 'box', edit: { do: 'change', before: box, after: editBox(box, frame) } })
            }
            onRemove={(box) => page.run({ do: 'box', edit: { do: 'remove', box } })}
            widthOf={widthOf}
          />
        ) : (
          <PlainImage key={image.id} image={image} widthOf={widthOf} stage={zoom.stage} />
        )}
      </div>
      <Answer state={state} image={image} />
    </div>
  );
}

interface PlainImageProps {
  image: LabelImage;
  widthOf: (ratio: number) => string;
  stage: Zoom['stage'];
}
/** An image that the pointer pans. */
function PlainImage({ image, widthOf, stage }: PlainImageProps) {
  const [ratio, setRatio] = useState<number>();
  const [isBroken, setBroken] = useState(false);
  const pan = (event: PointerEvent): void => {
    if (event.buttons === 1 && event.pointerType === 'mouse')
      stage.current?.scrollBy({ left: -event.movementX, top: -event.movementY, behavior: 'instant' });
  };
  if (isBroken)
    return <p className="label-broken">{image.name} cannot be shown: the browser cannot decode the file.</p>;
  return (
    <img
      className="label-image"
      src={`/data/${image.id}`}
      alt={image.name}
      draggable={false}
      style={ratio === undefined ? {} : { width: widthOf(ratio) }}
      onPointerMove={pan}
      onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => setRatio(naturalWidth / naturalHeight)}
      onError={() => setBroken(true)}
    />
  );
}

/** The first suggestion, apart from what is a label. */
function Suggested({ state, image }: { state: Labelling; image: LabelImage }) {
  const [first] = openSuggestions(image, state.mode);
  if (!first) return null;
  return (
    <span className="label-guess">
      {isolateText(first.label)}? {percent(first.score, 0)}
    </span>
  );
}

/** Which image this is and what it is labelled as; read out at each change. */
const Answer = ({ state, image }: { state: Labelling; image: LabelImage }) => {
  const labels = state.mode === 'boxes' ? image.boxes.map(({ label }) => label) : image.labels;
  return (
    <p className="label-answer" role="status" aria-label="Image">
      <span className="numbers">
        {state.at + 1} / {state.images.length}
      </span>{' '}
      {labels.length === 0 ? state.mode === 'boxes' ? 'no box' : 'no label' : <strong>{labels.join(', ')}</strong>}{' '}
      <Suggested state={state} image={image} />
    </p>
  );
};
