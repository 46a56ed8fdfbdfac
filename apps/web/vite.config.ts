import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { preparedDescriptors } from './prepared-descriptors.ts';

/** `npx vite` shows the app with the data of a server that runs already. */
const server = process.env['PLATFORM_URL'] ?? 'http://127.0.0.1:8080';

/** The page names the font before the styles do: it is there when the first text is painted. */
const preloadFont: Plugin = {
  name: 'preload-font',
  transformIndexHtml: {
    order: 'post',
    handler(_, { bundle = {} }) {
      const file = Object.keys(bundle).find((name) => /inter-latin-wght.*\.woff2$/.test(name));
      if (file === undefined) return [];
      const attrs = { rel: 'preload', href: `/${file}`, as: 'font', type: 'font/woff2', crossorigin: '' };
      return [{ tag: 'link', attrs, injectTo: 'head' }];
    },
  },
};

/**
 * What the first page needs is one file: it compresses better than a dozen that share modules with later pages. What
 * many pages need is another one: on a slow processor, fetching a file takes longer than reading its few lines. What only
 * some pages need and is large, and the types of calls, which take time when they are read, stay with those pages.
 * See docs/decisions/0168-start-in-tasks.md.
 */
const groups = [
  { name: 'first-page', tags: ['$initial' as const], priority: 2 },
  { name: 'shared', test: /^(?!.*(?:_pb\.|codemirror|lezer|json-schema|uplot))/, minShareCount: 7, priority: 1 },
];

/** What draws the app comes beside its first file, see src/app/main.ts. */
const preloadApp: Plugin = {
  name: 'preload-app',
  transformIndexHtml: {
    order: 'post',
    handler(_, { bundle = {} }) {
      const app = Object.values(bundle).find((one) => one.type === 'chunk' && one.name === 'app');
      const files = app?.type === 'chunk' ? [app.fileName, ...app.imports] : [];
      return files
        .filter((file) => bundle[file]?.type === 'chunk' && !bundle[file].isEntry)
        .map((file) => ({
          tag: 'link',
          attrs: { rel: 'modulepreload', href: `/${file}`, crossorigin: '' },
          injectTo: 'head' as const,
        }));
    },
  },
};

export default defineConfig({
  plugins: [react(), preloadFont, preloadApp, preparedDescriptors()],
  // Preact runs what is written for React, in a sixth of the bytes; types stay those of React.
  resolve: {
    alias: {
      'react-dom/client': 'preact/compat/client',
      'react-dom': 'preact/compat',
      'react/jsx-runtime': 'preact/jsx-runtime',
      react: 'preact/compat',
    },
  },
  build: {
    target: 'es2023',
    manifest: true,
    reportCompressedSize: true,
    // Browsers that take this target preload modules by themselves.
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { codeSplitting: { groups } } },
  },
  server: { proxy: { '^/(platform\\.|proto\\.|data/|packages/|releases/|sign-in)': server } },
});
