import { useRef, useState } from 'react';
import type { PointerEvent } from 'react';
import { corners, frameBetween, moveFrame, nudgeFrame, withConfidence, moveCorner } from '../view/boxes.ts';
import type { Box, Corner, Frame, Point } from '../view/boxes.ts';
import { percent } from '../view/quantities.ts';
import { isolateText } from '../view/user-text.ts';

interface BoxCanvasProps {
  source: string;
  name: string;
  boxes: readonly Box[];
  selected: string | undefined;
  onSelect: (id: string | undefined) => void;
  onDraw: (frame: Frame) => void;
  /** Called at the end of a move, to save it. */
  onChange: (box: Box, frame: Frame) => void;
  onRemove: (box: Box) => void;
}

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

/** The image with its boxes: drag on it to draw, drag a box or its corners, or use the keyboard on a box. */
export function BoxCanvas({ source, name, boxes, selected, onSelect, onDraw, onChange, onRemove }: BoxCanvasProps) {
  const area = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<Drag>();
  const [ratio, setRatio] = useState<number>();
  const [pressed, setPressed] = useState<{ box: Box; frame: Frame }>();

  const pointOf = (event: PointerEvent): Point => {
    const place = area.current?.getBoundingClientRect();
    if (!place) return { x: 0, y: 0 };
    return { x: (event.clientX - place.left) / place.width, y: (event.clientY - place.top) / place.height };
  };
  const begin = (event: PointerEvent, next: Drag): void => {
    if (event.button !== 0) return;
    event.stopPropagation();
    area.current?.setPointerCapture(event.pointerId);
    setDrag(next);
  };
  const move = (event: PointerEvent): void => {
    if (!drag) return;
    const to = pointOf(event);
    if (drag.at === 'drawing') setDrag({ ...drag, to });
    else if (drag.at === 'moving')
      setDrag({ ...drag, frame: moveFrame(drag.box, to.x - drag.from.x, to.y - drag.from.y) });
    else setDrag({ ...drag, frame: moveCorner(drag.box, drag.corner, to) });
  };
  const end = (): void => {
    if (!drag) return;
    setDrag(undefined);
    if (drag.at === 'drawing') {
      const frame = frameBetween(drag.from, drag.to);
      if (frame) onDraw(frame);
      else onSelect(undefined);
    } else if (!isSame(drag.frame, drag.box)) onChange(drag.box, drag.frame);
  };
  /** The frame to draw: during a move it differs from the saved one. */
  const shown = (box: Box): Frame => {
    if (drag && drag.at !== 'drawing' && drag.box.id === box.id) return drag.frame;
    return pressed?.box.id === box.id ? pressed.frame : box;
  };
  const drawing = drag?.at === 'drawing' ? frameBetween(drag.from, drag.to) : undefined;

  return (
    <div
      className="box-canvas"
      ref={area}
      style={ratio === undefined ? {} : { width: `min(100%, calc(76dvh * ${ratio.toFixed(4)}))` }}
      onPointerDown={(event) => begin(event, { at: 'drawing', from: pointOf(event), to: pointOf(event) })}
      onPointerMove={move}
      onPointerUp={end}
      onPointerCancel={() => setDrag(undefined)}
    >
      <img
        src={source}
        alt={name}
        draggable={false}
        onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => setRatio(naturalWidth / naturalHeight)}
      />
      {boxes.map((box, at) => {
        const isSelected = box.id === selected;
        const frame = shown(box);
        return (
          <div
            key={box.id}
            className={isSelected ? 'box box-selected' : 'box'}
            style={placed(frame)}
            role="button"
            tabIndex={0}
            aria-pressed={isSelected}
            aria-label={`Box ${at + 1}: ${isolateText(box.label)}${box.confidence === undefined ? '' : `, ${percent(box.confidence, 0)} confidence`}. Arrow keys move it, with Shift they change its size, Delete removes it.`}
            onFocus={() => onSelect(box.id)}
            onPointerDown={(event) => {
              event.currentTarget.focus({ preventScroll: true });
              begin(event, { at: 'moving', box, from: pointOf(event), frame: box });
            }}
            onKeyDown={(event) => {
              if (event.key === 'Delete' || event.key === 'Backspace') return onRemove(box);
              const next = nudgeFrame(frame, event.key, event.shiftKey);
              if (!next) return;
              event.preventDefault();
              setPressed({ box, frame: next });
            }}
            onKeyUp={() => {
              if (pressed?.box.id === box.id) onChange(box, pressed.frame);
              setPressed(undefined);
            }}
          >
            <span className="box-label">{withConfidence(box)}</span>
            {isSelected &&
              corners.map((corner) => (
                <span
                  key={corner}
                  className={`box-corner box-${corner.replace(' ', '-')}`}
                  style={{ cursor: cursors[corner] }}
                  onPointerDown={(event) => begin(event, { at: 'resizing', box, corner, frame: box })}
                />
              ))}
          </div>
        );
      })}
      {drawing && <div className="box box-selected" style={placed(drawing)} />}
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
