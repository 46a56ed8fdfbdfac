import { useRef, useState } from 'react';
import type { PointerEvent } from 'react';
import {
  corners,
  frameBetween,
  moveFrame,
  nudgeFrame,
  withConfidence,
  moveCorner,
} from '../../../entities/image/boxes.ts';
import type { Box, Corner, Frame, Point } from '../../../entities/image/boxes.ts';
import type { Suggestion } from './suggestions.ts';
import { percent } from '../../../ui/quantities.ts';
import { isolateText } from '../../../ui/user-text.ts';
import '../../../ui/style/training.css';

interface BoxCanvasProps {
  source: string;
  name: string;
  boxes: readonly Box[];
  selected: string | undefined;
  /** Boxes of a model that are not accepted yet, the first one next. */
  suggested?: readonly Suggestion[];
  onSelect: (id: string | undefined) => void;
  onDraw: (frame: Frame) => void;
  /** Called at the end of a move, to save it. */
  onChange: (box: Box, frame: Frame) => void;
  onRemove: (box: Box) => void;
  /** CSS width of the image by the ratio of its sides; by default it fits a page. */
  widthOf?: (ratio: number) => string;
}

const fitPage = (ratio: number): string => `min(100%, calc(76dvh * ${ratio.toFixed(4)}))`;

/** The current action of the pointer. */
type Drag =
  | { at: 'drawing'; from: Point; to: Point }
  | { at: 'moving'; box: Box; from: Point; frame: Frame }
  | { at: 'resizing'; box: Box; corner: Corner; frame: Frame };

const cursors: Readonly<Record<Corner, string>> = {
  'top left': 'nwse-resize',
  'bottom right': 'nwse-resize',
  'top right': 'nesw-resize',
  'bottom left': 'nesw-resize',
};

interface DragTargets {
  onSelect: BoxCanvasProps['onSelect'];
  onDraw: BoxCanvasProps['onDraw'];
  onChange: BoxCanvasProps['onChange'];
}

/** What the pointer draws, moves or resizes on the canvas; the end of a drag is reported. */
function useBoxDrag({ onSelect, onDraw, onChange }: DragTargets) {
  const area = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<Drag>();
  return {
    area,
    drag,
    pointOf: (event: PointerEvent): Point => {
      const place = area.current?.getBoundingClientRect();
      if (!place) return { x: 0, y: 0 };
      return { x: (event.clientX - place.left) / place.width, y: (event.clientY - place.top) / place.height };
    },
    begin: (event: PointerEvent, next: Drag): void => {
      if (event.button !== 0) return;
      event.stopPropagation();
      area.current?.setPointerCapture(event.pointerId);
      setDrag(next);
    },
    moveTo: (to: Point): void => setDrag(drag && dragTo(drag, to)),
    end: (): void => {
      if (!drag) return;
      setDrag(undefined);
      if (drag.at === 'drawing') {
        const frame = frameBetween(drag.from, drag.to);
        if (frame) onDraw(frame);
        else onSelect(undefined);
      } else if (!isSame(drag.frame, drag.box)) onChange(drag.box, drag.frame);
    },
    cancel: (): void => setDrag(undefined),
  };
}

function dragTo(drag: Drag, to: Point): Drag {
  if (drag.at === 'drawing') return { ...drag, to };
  if (drag.at === 'resizing') return { ...drag, frame: moveCorner(drag.box, drag.corner, to) };
  return { ...drag, frame: moveFrame(drag.box, to.x - drag.from.x, to.y - drag.from.y) };
}

/** The image with its boxes: drag on it to draw, drag a box or its corners, or use the keyboard on a box. */
export function BoxCanvas(props: BoxCanvasProps) {
  const {
    source,
    name,
    boxes,
    selected,
    suggested = [],
    onSelect,
    onDraw,
    onChange,
    onRemove,
    widthOf = fitPage,
  } = props;
  const { area, drag, pointOf, begin, moveTo, end, cancel } = useBoxDrag({ onSelect, onDraw, onChange });
  const [ratio, setRatio] = useState<number>();
  const drawing = drag?.at === 'drawing' ? frameBetween(drag.from, drag.to) : undefined;
  return (
    <div
      className="box-canvas"
      ref={area}
      style={ratio === undefined ? {} : { width: widthOf(ratio) }}
      onPointerDown={(event) => begin(event, { at: 'drawing', from: pointOf(event), to: pointOf(event) })}
      onPointerMove={(event) => drag && moveTo(pointOf(event))}
      onPointerUp={end}
      onPointerCancel={cancel}
    >
      <img
        src={source}
        alt={name}
        draggable={false}
        onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => setRatio(naturalWidth / naturalHeight)}
      />
      {boxes.map((box, at) => (
        <CanvasBox
          key={box.id}
          box={box}
          number={at + 1}
          dragged={drag && drag.at !== 'drawing' && drag.box.id === box.id ? drag.frame : undefined}
          isSelected={box.id === selected}
          onSelect={() => onSelect(box.id)}
          onMove={(event) => begin(event, { at: 'moving', box, from: pointOf(event), frame: box })}
          onResize={(event, corner) => begin(event, { at: 'resizing', box, corner, frame: box })}
          onChange={(frame) => onChange(box, frame)}
          onRemove={() => onRemove(box)}
        />
      ))}
      {suggested.map(({ id, label, score, frame }, at) => (
        <div
          key={id}
          className={at === 0 ? 'box box-suggested box-next' : 'box box-suggested'}
          style={frame && placed(frame)}
        >
          <span className="box-label">{`${label} ${percent(score, 0)}`}</span>
        </div>
      ))}
      {drawing && <div className="box box-selected" style={placed(drawing)} />}
    </div>
  );
}

interface CanvasBoxProps {
  box: Box;
  number: number;
  /** The frame during a drag, which differs from the saved one. */
  dragged: Frame | undefined;
  isSelected: boolean;
  onSelect: () => void;
  onMove: (event: PointerEvent) => void;
  onResize: (event: PointerEvent, corner: Corner) => void;
  onChange: (frame: Frame) => void;
  onRemove: () => void;
}
function CanvasBox({ box, number, dragged, isSelected, onSelect, onMove, onResize, ...edits }: CanvasBoxProps) {
  /** The frame while an arrow key is held; it is saved when the key is released. */
  const [nudged, setNudged] = useState<Frame>();
  const frame = dragged ?? nudged ?? box;
  return (
    <div
      className={isSelected ? 'box box-selected' : 'box'}
      style={placed(frame)}
      role="button"
      tabIndex={0}
      aria-pressed={isSelected}
      aria-label={`Box ${number}: ${isolateText(box.label)}${box.confidence === undefined ? '' : `, ${percent(box.confidence, 0)} confidence`}. Arrow keys move it, with Shift they change its size, Delete removes it.`}
      onFocus={onSelect}
      onBlur={() => setNudged(undefined)}
      onPointerDown={(event) => {
        event.currentTarget.focus({ preventScroll: true });
        onMove(event);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Delete' || event.key === 'Backspace') {
          event.preventDefault();
          return edits.onRemove();
        }
        const next = nudgeFrame(frame, event.key, event.shiftKey);
        if (!next) return;
        event.preventDefault();
        setNudged(next);
      }}
      onKeyUp={() => {
        if (nudged) edits.onChange(nudged);
        setNudged(undefined);
      }}
    >
      <span className="box-label">{withConfidence(box)}</span>
      {isSelected &&
        corners.map((corner) => (
          <span
            key={corner}
            className={`box-corner box-${corner.replace(' ', '-')}`}
            style={{ cursor: cursors[corner] }}
            onPointerDown={(event) => onResize(event, corner)}
          />
        ))}
    </div>
  );
}

const share = (value: number): string => `${(value * 100).toFixed(3)}%`;
const placed = ({ xMin, yMin, xMax, yMax }: Frame) => ({
  left: share(xMin),
  top: share(yMin),
  width: share(xMax - xMin),
  height: share(yMax - yMin),
});
const isSame = (a: Frame, b: Frame): boolean =>
  a.xMin === b.xMin && a.yMin === b.yMin && a.xMax === b.xMax && a.yMax === b.yMax;
