// Builds the dashboard into dist/web: hashed files, each also compressed. `npm start` and the published package serve it.
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, 'web')
const dist = join(root, 'dist')
const output = join(dist, 'web')
const fingerprintFile = 'fingerprint'

const filesUnder = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesUnder(path) : [path]
  })

/** Changes when a source file is edited, added or removed, and when a library changes its version. */
const fingerprintSources = () => {
  const hash = createHash('sha256')
  for (const path of [...filesUnder(source).sort(), join(root, 'package.json'), fileURLToPath(import.meta.url)]) {
    hash.update(`${relative(root, path)}\n`).update(existsSync(path) ? readFileSync(path) : '')
  }
  return hash.digest('hex')
}

/** The published package has no sources, only the result. */
export const hasWebSources = () => existsSync(join(source, 'index.html'))

const fingerprintOf = (folder) => {
  const file = join(folder, fingerprintFile)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

export const isWebUpToDate = () => fingerprintOf(output) === fingerprintSources()

const compressible = new Set(['.js', '.css', '.html', '.svg', '.json'])

const compressAll = (folder) => {
  for (const path of filesUnder(folder)) {
    if (!compressible.has(extname(path))) continue
    const bytes = readFileSync(path)
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
    writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }))
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  }
}

/**
 * Puts a finished build in the place of the one before. Files are never removed from a folder that a starting service
 * may be reading, and a build of the same sources that another process has finished meanwhile stays.
 */
export const putInPlace = (draft, folder) => {
  const isThere = () => fingerprintOf(folder) === fingerprintOf(draft)
  if (isThere()) return
  const old = `${draft}-old`
  try {
    if (existsSync(folder)) renameSync(folder, old)
    renameSync(draft, folder)
  } catch (error) {
    // Another process put its build there between two of these steps.
    if (!isThere()) throw error
  } finally {
    rmSync(old, { recursive: true, force: true })
  }
}

/** Loads what a build needs, and returns its name and version. */
export const loadBuilder = async () => {
  const { resolveConfig, version } = await import('vite')
  await resolveConfig({ configFile: join(source, 'vite.config.ts'), logLevel: 'warn' }, 'build')
  return `vite ${version}`
}

export const buildWeb = async () => {
  const fingerprint = fingerprintSources()
  // Otherwise tests, which set another value, would build the slow development version of React.
  process.env.NODE_ENV = 'production'
  const { build } = await import('vite')
  mkdirSync(dist, { recursive: true })
  const draft = mkdtempSync(join(dist, '.draft-web-'))
  try {
    await build({
      configFile: join(source, 'vite.config.ts'),
      logLevel: 'warn',
      build: { outDir: draft, emptyOutDir: true },
    })
    compressAll(draft)
    writeFileSync(join(draft, fingerprintFile), fingerprint)
    chmodSync(draft, 0o755)
    putInPlace(draft, output)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  if (!process.argv.includes('--if-changed') || !isWebUpToDate()) await buildWeb()
}
