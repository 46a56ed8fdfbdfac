import { useState } from 'react';
import { CheckIcon, CopyIcon } from './icons.tsx';
import { useClock } from './time.tsx';

const thanksMs = 2000;

/** Copies a text; without permission (a page over plain HTTP) through a selection and the older browser API. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    return isCopied;
  }
}

function useCopy(text: string, label: string) {
  const clock = useClock();
  const [state, setState] = useState<'idle' | 'copied' | 'refused'>('idle');
  const press = async (): Promise<void> => {
    setState((await copy(text)) ? 'copied' : 'refused');
    await clock.sleep(thanksMs);
    setState('idle');
  };
  const spoken = state === 'copied' ? 'Copied' : state === 'refused' ? 'Select the text and copy it by hand' : label;
  return { state, press, spoken };
}

/** The main action of its place, with a text. */
export function CopyMainButton({ text, label }: { text: string; label: string }) {
  const { state, press, spoken } = useCopy(text, label);
  return (
    <button type="button" className="button button-main" onClick={() => void press()}>
      {state === 'copied' ? <CheckIcon /> : <CopyIcon />}
      <span aria-live="polite">{spoken}</span>
    </button>
  );
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const { state, press, spoken } = useCopy(text, label);
  return (
    <button
      type="button"
      className="button button-small button-icon"
      onClick={() => void press()}
      aria-label={spoken}
      title={spoken}
    >
      {state === 'copied' ? <CheckIcon /> : <CopyIcon />}
      <span className="hidden-text" aria-live="polite">
        {state === 'idle' ? '' : spoken}
      </span>
    </button>
  );
}

/** One command line to copy. */
export const Command = ({ text }: { text: string }) => (
  <div className="command">
    <code tabIndex={0}>{text}</code>
    <CopyButton text={text} label="Copy the command" />
  </div>
);

export const CodeBlock = ({ text, label }: { text: string; label: string }) => (
  <div className="code-block">
    <pre tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
    <CopyButton text={text} label={`Copy: ${label}`} />
  </div>
);

/** Saves a file as a download. */
export function saveFile(name: string, file: Blob): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
