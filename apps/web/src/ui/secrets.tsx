import { createContext, useContext, useState } from 'react';

/** Asks for the value of a saved secret; undefined: it is not shown. */
export type Reveal = (path: string) => Promise<string | undefined>;

interface Revealing {
  reveal: Reveal;
  /** What the placeholders belong to: the revision and the text. */
  source: string;
}

const RevealContext = createContext<Revealing>({ reveal: async () => undefined, source: '' });

export const RevealProvider = RevealContext.Provider;

/** One saved secret: its value while it is shown, which ends when the text or its revision changes. */
export function useRevealed(path: string) {
  const { reveal, source } = useContext(RevealContext);
  const [shown, setShown] = useState<{ source: string; path: string; value: string }>();
  const value = shown?.source === source && shown.path === path ? shown.value : undefined;
  const toggle = async (): Promise<void> => {
    const found = value === undefined ? await reveal(path) : undefined;
    setShown(found === undefined ? undefined : { source, path, value: found });
  };
  return { value, toggle: (): void => void toggle() };
}
