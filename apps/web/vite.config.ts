import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** `npx vite` shows the app with the data of a server that runs already. */
const server = process.env['PLATFORM_URL'] ?? 'http://127.0.0.1:8080';

export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2023',
    manifest: true,
    reportCompressedSize: true,
    // What the first page needs is one file: it compresses better than a dozen that share modules with later pages.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first-page', tags: ['$initial'] }] } } },
  },
  server: { proxy: { '^/(platform\\.|proto\\.|data/|packages/|releases/|sign-in)': server } },
});
