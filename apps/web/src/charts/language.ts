// uPlot asks Intl for the browser's language as soon as it is loaded; some browsers name one that Intl refuses, such as
// en-US@posix. Import this before it.
try {
  new Intl.NumberFormat(navigator.language).format(0);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
}
