// Bundles the service into dist/. `npm start` and the published package run that bundle.
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
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { reduceToLines } from './line-map.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, 'src')
const dist = join(root, 'dist')
const bundle = join(dist, 'tidings.mjs')

/** Programs of threads, which need a file to start from. Each becomes a bundle of its own next to the service. */
const threadEntries = ['people/sso/saml/verify-in-thread.ts', 'interfaces/submission/parse-in-thread.ts']

const filesUnder = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesUnder(path) : [path]
  })

/** What builds the bundle. */
const builders = ['build.js', 'line-map.js'].map((name) => join(root, 'scripts', name))

/** Changes when a source file is edited, added or removed. */
const fingerprintSources = () => {
  const hash = createHash('sha256')
  for (const path of [...filesUnder(source).sort(), join(root, 'package.json'), ...builders]) {
    // A temporary file of an editor may have been deleted since it was listed.
    const found = statSync(path, { throwIfNoEntry: false })
    hash.update(`${path.slice(root.length)} ${found?.mtimeMs} ${found?.size}\n`)
  }
  return hash.digest('hex')
}

const bannerOf = (fingerprint) => `// built from ${fingerprint}`

/**
 * Everything else is bundled into one file, because loading a thousand small files took most of the start time. These
 * packages stay external: they contain a binary (argon2), resolve files at run time (Scalar, Fastify), start threads
 * from their own files (pino), are large and rarely loaded (the AWS SDK, OpenTelemetry), or assign undeclared variables, which a module
 * may not (smpp).
 */
const externalPackages = [
  '@aws-sdk/*',
  '@node-rs/argon2',
  '@opentelemetry/*',
  '@scalar/*',
  'fastify',
  'pino',
  'pg-native',
  'smpp',
]

/** CommonJS packages call `require`, which ES modules do not define. */
const requireForPackages =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);"

/** The fingerprint is the first line of the bundle itself, so the two can never disagree. */
export const isUpToDate = () => {
  const banner = Buffer.from(bannerOf(fingerprintSources()))
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

/** Writes a draft and renames it, so that a concurrent build or a starting service never reads a partial file. */
const publish = (path, contents) => {
  const draft = join(dist, `${draftPrefix}${randomBytes(6).toString('hex')}`)
  writeFileSync(draft, contents)
  renameSync(draft, path)
}

/** Longer than any build takes: the dashboard is built into a folder that also has such a name. */
const abandonedAfterMs = 600_000

const sweepAbandonedDrafts = () => {
  for (const name of readdirSync(dist)) {
    if (!name.startsWith(draftPrefix)) continue
    const age = Date.now() - (statSync(join(dist, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (age > abandonedAfterMs) rmSync(join(dist, name), { recursive: true, force: true })
  }
}

const publishMigrations = () => {
  const [from, to] = [join(source, 'platform', 'db', 'migrations'), join(dist, 'migrations')]
  mkdirSync(to, { recursive: true })
  const names = existsSync(from) ? readdirSync(from).filter((name) => name.endsWith('.sql')) : []
  for (const name of names) publish(join(to, name), readFileSync(join(from, name)))
  for (const name of readdirSync(to)) if (!names.includes(name)) rmSync(join(to, name), { force: true })
}

/**
 * V8 keeps the source of a bundle, and stores it in half the memory if no character is beyond Latin-1. The packages bring some
 * in comments, which a build keeps. In strings, templates and regular expressions an escape means the same.
 */
const inAscii = (text) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII begins with them
  text.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** By its path in a source map, which is relative to the bundle. */
const isOwnSource = (path) => path.startsWith('../src/')

const entryPoints = () => [
  { in: join(source, 'main.ts'), out: basename(bundle, '.mjs') },
  ...threadEntries
    .map((path) => join(source, path))
    .filter((path) => existsSync(path))
    .map((path) => ({ in: path, out: basename(path, '.ts') })),
]

export const build = async () => {
  // Computed before the sources are read: an edit during the build then triggers another build at the next start.
  const fingerprint = fingerprintSources()
  // Loaded only here, because most starts have nothing to build.
  const esbuild = await import('esbuild')
  const building = esbuild.build({
    entryPoints: entryPoints(),
    outdir: dist,
    outExtension: { '.js': '.mjs' },
    write: false,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    external: externalPackages,
    sourcemap: 'linked',
    // Stack traces need names and line numbers, not a second copy of every package.
    sourcesContent: false,
    banner: { js: `${bannerOf(fingerprint)}\n${requireForPackages}` },
    logLevel: 'silent',
  })
  // Otherwise esbuild's helper process would keep running inside the service.
  const { outputFiles } = await building.finally(esbuild.stop)
  mkdirSync(dist, { recursive: true })
  sweepAbandonedDrafts()
  publishMigrations()
  // A source map is published before the bundle that refers to it, and the service after the threads that it starts.
  const rank = ({ path }) => (path === bundle ? 2 : path.endsWith('.map') ? 0 : 1)
  for (const { path, text } of [...outputFiles].sort((a, b) => rank(a) - rank(b))) {
    publish(path, path.endsWith('.map') ? reduceToLines(text, isOwnSource) : inAscii(text))
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await build().catch((error) => {
    console.error(error.message)
    process.exitCode = 1
  })
}
