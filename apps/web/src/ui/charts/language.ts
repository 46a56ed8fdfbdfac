// uPlot calls Intl with the browser's language at import. Some browsers name a language that Intl refuses, such as
// en-US@posix. Import this before it.
try {
  new Intl.NumberFormat(navigator.language).format(0);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
}
