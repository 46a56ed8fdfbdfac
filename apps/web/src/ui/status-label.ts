/** The colour a state is shown in. */
export type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'off' | 'quiet';

export interface StatusLabel {
  tone: Tone;
  text: string;
}

export const unknownLabel: StatusLabel = { tone: 'quiet', text: 'Not reported' };

/** @param text - in the middle of a sentence; undefined: not reported, or a state of a newer version. */
export const labelOf = (text: string | undefined, tone: Tone | undefined): StatusLabel =>
  text === undefined
    ? unknownLabel
    : { tone: tone ?? 'quiet', text: text.replace(/^./, (first) => first.toUpperCase()) };
