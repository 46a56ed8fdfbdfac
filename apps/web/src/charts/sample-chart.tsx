import type { ChartPoint, SampleChart } from '../view/samples.ts';

const [width, height] = [300, 60];

const pathOf = (run: readonly ChartPoint[]): string =>
  // A few samples of a day are less than a pixel: they are drawn as a short line.
  [{ x: Math.min(run[0]?.x ?? 0, (run.at(-1)?.x ?? 0) - 3 / width), y: run[0]?.y ?? 0 }, ...run]
    .map(({ x, y }, n) => `${n === 0 ? 'M' : 'L'}${(x * width).toFixed(1)} ${((1 - y) * height).toFixed(1)}`)
    .join('');

/** A small chart without axes: its newest values as text, and the value at its top. */
export function SampleChartFigure({ chart }: { chart: SampleChart }) {
  const last = chart.lines.map(({ name, last: value }) => (name === '' ? value : `${name} ${value}`)).join(', ');
  return (
    <figure className="sample-chart">
      <figcaption className="small">
        {chart.title} <span className="soft">{last}</span>
      </figcaption>
      <svg
        viewBox={`0 -1 ${width} ${height + 2}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${chart.title}: ${last}; the highest line is ${chart.top}`}
      >
        <line x1="0" x2={width} y1={height} y2={height} className="sample-ground" />
        <line x1="0" x2={width} y1="0" y2="0" className="sample-ground" />
        {chart.lines.map(({ name, runs }, n) => (
          <path key={name} d={runs.map(pathOf).join('')} className={`sample-line sample-line-${n}`} />
        ))}
      </svg>
      <span className="small soft sample-top" aria-hidden>
        {chart.top}
      </span>
    </figure>
  );
}
