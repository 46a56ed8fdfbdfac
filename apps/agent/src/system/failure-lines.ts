const shownLines = 5;
/** How apt, dpkg and unattended-upgrade begin a line with a cause. apt explains some of them at length, such as with all hashes of a file. */
const cause =
  /^(E:|Err:|dpkg: error|W: (Failed to fetch|GPG error|An error occurred during the signature)|Waiting for cache lock:|error message: |Lock could not be acquired|Cache has broken packages)/;

/** What to show of the output of a package manager that failed: the last lines with a cause; without one, the last lines. */
export function failureLines(lines: readonly string[]): string[] {
  const causes = lines.flatMap((line, at) => {
    // dpkg names the package, and says why on the next line.
    if (/^dpkg: error .*:$/.test(lines[at - 1] ?? '')) return [line];
    if (!cause.test(line)) return [];
    const next = lines[at + 1] ?? '';
    return line.startsWith('Err:') && next.startsWith('  ') ? [`${line}: ${next.trim()}`] : [line];
  });
  // apt repeats that it waits for a lock.
  const shown = causes.length > 0 ? [...new Set(causes)] : lines;
  return shown.slice(-shownLines);
}
