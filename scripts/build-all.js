// `npm run build`: the bundle of the service and the dashboard.
import { build } from './build.js'
import { buildWeb, loadBuilder } from './build-web.js'

if (process.argv.includes('--start-only')) {
  const { sayStarted } = await import('./start-only.ts')
  const { version } = await import('esbuild')
  sayStarted(`esbuild ${version} and ${await loadBuilder()}`)
} else {
  await build()
  await buildWeb()
}
