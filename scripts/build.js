// Bundles the service into dist/, which is what `npm start` and the published package run.
import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, 'src')
const dist = join(root, 'dist')
const bundle = join(dist, 'tidings.mjs')

const filesUnder = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesUnder(path) : [path]
  })

/** Changes when any source is edited, added or removed. */
const stampOfSources = () => {
  const stamp = createHash('sha256')
  for (const path of [...filesUnder(source).sort(), join(root, 'package.json'), fileURLToPath(import.meta.url)]) {
    // An editor's passing file may be gone by now.
    const found = statSync(path, { throwIfNoEntry: false })
    stamp.update(`${path.slice(root.length)} ${found?.mtimeMs} ${found?.size}\n`)
  }
  return stamp.digest('hex')
}

const bannerOf = (stamp) => `// built from ${stamp}`

/**
 * Everything goes into the one file, since loading a thousand small ones was most of a start. Left out is what holds
 * a binary (argon2), what is resolved at run time (Scalar, Fastify), what starts threads from its own files (pino) and
 * what is large and loaded only by those who use it (the AWS SDK).
 */
const leftOut = ['@aws-sdk/*', '@node-rs/argon2', '@scalar/*', 'fastify', 'pino', 'pg-native']

/** Packages written for require find none in a module of the newer kind. */
const requireForPackages =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);"

/** The stamp is the bundle's own first line: no moment exists at which the two could disagree. */
export const isUpToDate = () => {
  const banner = Buffer.from(bannerOf(stampOfSources()))
  const found = Buffer.alloc(banner.length)
  try {
    const file = openSync(bundle)
    readSync(file, found)
    closeSync(file)
  } catch {
    return false
  }
  return found.equals(banner)
}

const draftPrefix = '.draft-'

/** Written aside and renamed, so that neither a second build nor a service starting now meets half a file. */
const publish = (path, contents) => {
  const draft = join(dist, `${draftPrefix}${randomBytes(6).toString('hex')}`)
  writeFileSync(draft, contents)
  renameSync(draft, path)
}

const abandonedAfterMs = 60_000

const sweepAbandonedDrafts = () => {
  for (const name of readdirSync(dist)) {
    if (!name.startsWith(draftPrefix)) continue
    const age = Date.now() - (statSync(join(dist, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (age > abandonedAfterMs) rmSync(join(dist, name), { force: true })
  }
}

const publishMigrations = () => {
  const [from, to] = [join(source, 'db', 'migrations'), join(dist, 'migrations')]
  mkdirSync(to, { recursive: true })
  const names = existsSync(from) ? readdirSync(from).filter((name) => name.endsWith('.sql')) : []
  for (const name of names) publish(join(to, name), readFileSync(join(from, name)))
  for (const name of readdirSync(to)) if (!names.includes(name)) rmSync(join(to, name), { force: true })
}

export const build = async () => {
  // Taken before the sources are read: an edit during the build makes the next start build again.
  const stamp = stampOfSources()
  // Loaded only here, since most starts find nothing to build.
  const esbuild = await import('esbuild')
  const building = esbuild.build({
    entryPoints: [join(source, 'main.ts')],
    outfile: bundle,
    write: false,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    external: leftOut,
    sourcemap: 'linked',
    // Stacks need names and lines, not a second copy of every package.
    sourcesContent: false,
    banner: { js: `${bannerOf(stamp)}\n${requireForPackages}` },
    logLevel: 'silent',
  })
  // Its helper process would otherwise live on inside the service.
  const { outputFiles } = await building.finally(esbuild.stop)
  mkdirSync(dist, { recursive: true })
  sweepAbandonedDrafts()
  publishMigrations()
  // The map before the bundle that refers to it.
  const mapFirst = [...outputFiles].sort((a, b) => Number(b.path.endsWith('.map')) - Number(a.path.endsWith('.map')))
  for (const { path, contents } of mapFirst) publish(path, contents)
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await build()
