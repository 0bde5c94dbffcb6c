/** Writes sbom.json: every package that the service needs at run time, with its version, as CycloneDX. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isStartOnly, sayStarted } from './start-only.ts'

type Bom = {
  metadata: { component: { name: string; 'bom-ref': string; purl?: string } }
  components: { name: string; version: string; 'bom-ref': string; properties?: { name: string; value: string }[] }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

const root = join(import.meta.dirname, '..')
const { name, version, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

if (isStartOnly()) {
  const npm = execFileSync('npm', ['--version'], { encoding: 'utf8' }).trim()
  sayStarted(`npm ${npm} for ${Object.keys(dependencies).length} dependencies of ${name} ${version}`)
  process.exit()
}

// The lock file lists the packages of every platform; the installed folder has those of one. `--omit dev` is not used,
// because it also leaves out packages that both the service and a development tool need.
const options = ['--package-lock-only', '--sbom-format', 'cyclonedx', '--offline', '--no-update-notifier']
const bom: Bom = JSON.parse(
  execFileSync('npm', ['sbom', ...options], { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }),
)

// npm names the service after the folder of the checkout.
const { component } = bom.metadata
const ref = component['bom-ref']
Object.assign(component, { name, 'bom-ref': `${name}@${version}`, purl: `pkg:npm/${name}@${version}` })
for (const entry of bom.dependencies) if (entry.ref === ref) entry.ref = component['bom-ref']

// npm merges equal packages and may mark one as needed for development only although the service needs it too.
type Locked = { name?: string; version: string; dev?: boolean }
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
const needed = new Set(
  Object.entries<Locked>(packages)
    .filter(([, part]) => !part.dev)
    .map(([path, part]) => `${part.name ?? path.split('node_modules/').at(-1)}@${part.version}`),
)
bom.components = bom.components
  .filter((part) => needed.has(`${part.name}@${part.version}`))
  .map((part) => ({
    ...part,
    properties: (part.properties ?? []).filter((property) => property.name !== 'cdx:npm:package:development'),
  }))
const refs = new Set([component['bom-ref'], ...bom.components.map((part) => part['bom-ref'])])
bom.dependencies = bom.dependencies
  .filter((entry) => refs.has(entry.ref))
  .map((entry) => ({ ...entry, dependsOn: entry.dependsOn.filter((other) => refs.has(other)) }))

const listed = new Set(bom.components.map((part) => `${part.name}@${part.version}`))
const missing = Object.entries(dependencies).filter(([part, exact]) => !listed.has(`${part}@${exact}`))
if (missing.length > 0) throw new Error(`sbom.json would not list ${missing.map(([part]) => part).join(', ')}`)

writeFileSync(process.argv[2] ?? join(root, 'sbom.json'), `${JSON.stringify(bom, null, 2)}\n`)
