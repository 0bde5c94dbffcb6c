import { join } from 'node:path'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { mailFramePage } from './mail-frame-page.ts'

const service = process.env.SERVICE_URL ?? 'http://localhost:3000'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss(), mailFramePage()],
  // The policy of the dashboard allows workers from files of the own origin only.
  worker: { format: 'es' },
  resolve: { preserveSymlinks: false },
  // `npm run web` serves the sources and passes API requests on to a running service.
  server: { host: '127.0.0.1', proxy: { '/api': service, '/docs': service } },
  build: {
    outDir: join(import.meta.dirname, '..', 'dist', 'web'),
    emptyOutDir: true,
    target: 'es2023',
    manifest: true,
    // An inlined file would be a data: URL, which the content security policy forbids for fonts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The editor of templates is larger and loads on its own. A test limits what a page loads first.
    chunkSizeWarningLimit: 1_000,
  },
})
