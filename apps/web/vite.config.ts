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

export default defineConfig({
  plugins: [react(), preloadFont, preparedDescriptors()],
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
    // What the first page needs is one file: it compresses better than a dozen that share modules with later pages.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first-page', tags: ['$initial'] }] } } },
  },
  server: { proxy: { '^/(platform\\.|proto\\.|data/|packages/|releases/|sign-in)': server } },
});
