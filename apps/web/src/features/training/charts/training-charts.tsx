import { chartsOf } from '../../../entities/training-job/training-jobs.ts';
import { LineChart } from './line-chart.tsx';

/** Accuracy and loss over the epochs, side by side. */
export function TrainingCharts({ points }: { points: readonly object[] }) {
  const { shares, losses } = chartsOf(points as readonly Record<string, unknown>[]);
  const isAccuracy = shares.lines.some(({ name }) => name.includes('accuracy'));
  return (
    <div className="charts">
      {shares.lines.length > 0 && (
        <LineChart title={isAccuracy ? 'Accuracy by epoch' : 'Quality by epoch'} series={shares} isShare />
      )}
      {losses.lines.length > 0 && <LineChart title="Loss by epoch" series={losses} isShare={false} />}
    </div>
  );
}
