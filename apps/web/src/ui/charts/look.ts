import './language.ts';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

/** Imported from here, it comes after what it needs. */
export { uPlot };

/** A color of the theme, for drawings that style sheets do not reach. */
export const colorOf = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** An axis in the look of the page, with text of this size. */
export const axisOf = (fontPx: number): uPlot.Axis => ({
  stroke: colorOf('--text-soft'),
  grid: { stroke: colorOf('--line'), width: 1 },
  ticks: { show: false },
  font: `${fontPx}px ${getComputedStyle(document.documentElement).fontFamily}`,
});

/** A point is drawn only where no line is: beside gaps on both sides. */
export const isAlone: uPlot.Series.Points.Show = (plot, series) =>
  (plot.data[series] ?? []).filter((value) => value !== null && value !== undefined).length === 1;

/** Without a pointer over the drawing the legend shows the newest values. */
export const showLast = (plot: uPlot): void => plot.setLegend({ idx: Math.max(0, (plot.data[0]?.length ?? 0) - 1) });

interface Drawing {
  place: HTMLElement | null;
  plot: { current: uPlot | null };
  heightPx: number;
  /** @param before - what was drawn until now */
  create: (place: HTMLElement, before: uPlot.AlignedData | undefined) => uPlot;
}

/** Draws a chart as wide as its place, and again when the theme changes. @returns how to remove it. */
export function drawChart({ place, plot, heightPx, create }: Drawing): (() => void) | undefined {
  if (place === null) return undefined;
  const draw = (): void => {
    const before = plot.current?.data;
    plot.current?.destroy();
    plot.current = create(place, before);
  };
  draw();
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', draw);
  const watcher = new ResizeObserver(() => plot.current?.setSize({ width: place.clientWidth, height: heightPx }));
  watcher.observe(place);
  return () => {
    dark.removeEventListener('change', draw);
    watcher.disconnect();
    plot.current?.destroy();
    plot.current = null;
  };
}
