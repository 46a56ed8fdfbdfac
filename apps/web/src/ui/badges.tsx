import type { Tone, StatusLabel } from './status-label.ts';

const toneClass = (tone: Tone): string => (tone === 'quiet' ? '' : ` is-${tone}`);

/** A state as a coloured label with a dot. */
export const Badge = ({ state }: { state: StatusLabel }) => (
  <span className={`badge${toneClass(state.tone)}`}>
    <Dot tone={state.tone} />
    {state.text}
  </span>
);

export const Dot = ({ tone }: { tone: Tone }) => <span className={`dot${toneClass(tone)}`} aria-hidden="true" />;

export function ProgressBar({ share, label, isThin = false }: { share: number; label: string; isThin?: boolean }) {
  const now = Math.round(share * 100);
  return (
    <div
      className={isThin ? 'bar bar-thin' : 'bar'}
      role="progressbar"
      aria-label={label}
      aria-valuenow={now}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <span style={{ width: `${now}%` }} />
    </div>
  );
}
