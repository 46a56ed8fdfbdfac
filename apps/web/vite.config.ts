import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import type { Plugin } from 'vite';

/** Below this a compressed copy saves nothing. */
const worthCompressing = 1024;

/** Leaves .br and .gz beside each text file of dist, so that the server compresses nothing while it serves. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    closeBundle() {
      const folder = path.join(import.meta.dirname, 'dist');
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(js|css|html|svg|json)$/.test(name)) continue;
        const file = path.join(folder, name);
        const bytes = readFileSync(file);
        if (bytes.length < worthCompressing) continue;
        const params = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), precompress()],
  build: { target: 'es2023', manifest: true, reportCompressedSize: true, chunkSizeWarningLimit: 600 },
  server: {
    proxy: { '^/(platform\\.|data/|packages/|sign-in)': process.env['PLATFORM_URL'] ?? 'http://127.0.0.1:8080' },
  },
});
