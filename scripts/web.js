// `npm run web`: Vite's own command with the configuration of the dashboard.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { resolveConfig, version } from 'vite'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const configFile = join(root, 'web', 'vite.config.ts')

if (process.argv.includes('--start-only')) {
  const { sayStarted } = await import('./start-only.ts')
  const { server } = await resolveConfig({ configFile }, 'serve')
  sayStarted(`vite ${version}, which would listen at ${server.host}`)
} else {
  process.argv.splice(2, 0, '--config', configFile)
  await import('../node_modules/vite/bin/vite.js')
}
