const shownLines = 5;
/** How apt and dpkg begin a line with a cause. apt explains some of them at length, such as with all hashes of a file. */
const cause = /^(E:|Err:|dpkg: error|W: Failed to fetch)/;

/** What to show of the output of a package manager that failed: the last lines with a cause; without one, the last lines. */
export function failureLines(lines: readonly string[]): string[] {
  const causes = lines.filter(
    // dpkg names the package, and says why on the next line.
    (line, at) => cause.test(line) || /^dpkg: error .*:$/.test(lines[at - 1] ?? ''),
  );
  return (causes.length > 0 ? causes : lines).slice(-shownLines);
}
