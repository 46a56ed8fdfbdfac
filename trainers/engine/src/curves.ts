/** Renders the training curves as an image: loss on the left, validation score on the right. */
import sharp from 'sharp';

export interface CurvePoint {
  epoch: number;
  loss: number;
  /** Null without validation images. */
  validationLoss: number | null;
  /** 0..1. */
  score: number | null;
}

/** Bitmap font of 3×5 dots, one octal digit per row: not every host has fonts. */
const glyphs: Readonly<Record<string, string>> = {
  '0': '75557', '1': '26227', '2': '71747', '3': '71717', '4': '55711', '5': '74717', '6': '74757', '7': '71111',
  '8': '75757', '9': '75717', A: '25755', B: '65656', C: '34443', D: '65556', E: '74647', F: '74644', G: '34553',
  H: '55755', I: '72227', J: '11152', K: '55655', L: '44447', M: '57755', N: '65555', O: '25552', P: '65644',
  Q: '25573', R: '65655', S: '34216', T: '72222', U: '55557', V: '55552', W: '55775', X: '55255', Y: '55222',
  Z: '71247', '.': '00002', '%': '51245', '-': '00700', ':': '02020',
}; // prettier-ignore
const dot = 2;
const pitch = 4 * dot;

const colours = { text: '#37474f', axis: '#b0bec5', training: '#90a4ae', validation: '#1565c0' };

function drawText(text: string, x: number, y: number, colour: string): string {
  let path = '';
  for (const [i, letter] of text.toUpperCase().split('').entries()) {
    for (const [row, digit] of (glyphs[letter] ?? '').split('').entries()) {
      for (const column of [0, 1, 2]) {
        if ((Number(digit) & (4 >> column)) === 0) continue;
        path += `M${x + i * pitch + column * dot} ${y + row * dot}h${dot}v${dot}h-${dot}z`;
      }
    }
  }
  return `<path d="${path}" fill="${colour}"/>`;
}

interface Line {
  name: string;
  colour: string;
  values: readonly (number | null)[];
}
interface Panel {
  left: number;
  lines: readonly Line[];
  top: number;
  label(value: number): string;
}
const size = { width: 720, height: 280, panel: 270, plot: 180, margin: 60, head: 60 };

function panelOf(epochs: readonly number[], { left, lines, top, label }: Panel): string {
  const [first = 0, last = 1] = [epochs.at(0), epochs.at(-1)];
  const x = (epoch: number): number => left + (size.panel * (epoch - first)) / Math.max(1, last - first);
  const y = (value: number): number => size.head + size.plot * (1 - Math.min(1, value / top));
  const parts: string[] = [];
  for (const share of [0, 0.5, 1]) {
    const at = y(top * share);
    parts.push(`<path d="M${left} ${at}h${size.panel}" stroke="${colours.axis}"/>`);
    const text = label(top * share);
    parts.push(drawText(text, left - 6 - text.length * pitch, at - 5, colours.text));
  }
  const ends = new Set([first, last]);
  for (const epoch of ends) parts.push(drawText(String(epoch), x(epoch) - 4, size.head + size.plot + 10, colours.text));
  for (const [i, { name, colour, values }] of lines.entries()) {
    parts.push(drawText(name, left, 12 + i * 18, colour));
    const points = values.flatMap((value, at) =>
      value === null || !Number.isFinite(value) ? [] : [[x(epochs[at] ?? 0), y(value)] as const],
    );
    const course = points.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(' ');
    parts.push(`<polyline points="${course}" fill="none" stroke="${colour}" stroke-width="2"/>`);
    for (const [px, py] of points)
      parts.push(`<circle cx="${px.toFixed(1)}" cy="${py.toFixed(1)}" r="2.5" fill="${colour}"/>`);
  }
  return parts.join('');
}

/** @param score - name of the score in capital letters or digits: `ACCURACY`. @returns a PNG. */
export async function renderCurves(points: readonly CurvePoint[], score: string): Promise<Buffer> {
  const epochs = points.map(({ epoch }) => epoch);
  const losses = points.flatMap(({ loss, validationLoss }) => [loss, validationLoss ?? 0]).filter(Number.isFinite);
  const loss: Panel = {
    left: size.margin,
    top: Math.max(0.1, ...losses),
    label: (value) => value.toFixed(2),
    lines: [
      { name: 'training loss', colour: colours.training, values: points.map((one) => one.loss) },
      { name: 'validation loss', colour: colours.validation, values: points.map((one) => one.validationLoss) },
    ],
  };
  const right: Panel = {
    left: size.margin * 2 + size.panel,
    top: 1,
    label: (value) => `${Math.round(value * 100)}%`,
    lines: [{ name: `validation ${score}`, colour: colours.validation, values: points.map((one) => one.score) }],
  };
  const body = panelOf(epochs, loss) + panelOf(epochs, right);
  const foot = drawText('epoch', size.width / 2 - 20, size.height - 14, colours.text);
  const { width, height } = size;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="${width}" height="${height}" fill="#fff"/>${body}${foot}</svg>`;
  return sharp(Buffer.from(svg)).png({ palette: true }).toBuffer();
}
