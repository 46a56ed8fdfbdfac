import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** `npx vite` shows the app with the data of a server that runs already. */
const server = process.env['PLATFORM_URL'] ?? 'http://127.0.0.1:8080';

export default defineConfig({
  plugins: [react()],
  build: { target: 'es2023', manifest: true, reportCompressedSize: true },
  server: { proxy: { '^/(platform\\.|proto\\.|data/|packages/|releases/|sign-in)': server } },
});
