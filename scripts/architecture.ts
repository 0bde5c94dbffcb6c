/** The rules that `npm run check` enforces on the sources: layers, where things are declared, and unique names. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize, relative } from 'node:path'
import { parseSync } from 'oxc-parser'

/**
 * Modules by layer, lowest first. A module is a folder under src/, or a file at its top. Modules of one layer do not
 * import each other. The longest matching name wins, so `http/v1` is above `http`.
 */
export const layers: string[][] = [
  ['ground'],
  ['db'],
  ['providers', 'outgoing', 'traces'],
  ['limits', 'settings', 'idempotency', 'events', 'audit', 'health'],
  ['orgs', 'replica'],
  ['processes'],
  ['usage'],
  ['keys', 'accounts', 'projects', 'tenants', 'suppressions'],
  ['admission', 'audiences', 'domains', 'oauth', 'senders', 'signin', 'templates', 'tracking', 'webhooks'],
  ['team'],
  ['scim', 'sso'],
  ['billing', 'messages'],
  ['analytics', 'blasts', 'exports', 'inbound', 'overview', 'verifications'],
  ['operator'],
  ['worker'],
  ['http', 'submission'],
  [
    'http/v1',
    'http/dashboard',
    'http/public',
    'http/provider',
    'http/dev',
    'http/oauth',
    'http/scim',
    'http/mcp',
    'http/web',
    'inbound-smtp',
  ],
  ['wiring'],
  ['command'],
  ['main.ts'],
]

export type Sources = Map<string, string>

const layerOf = new Map(layers.flatMap((modules, layer) => modules.map((module) => [module, layer] as const)))

export const moduleOf = (file: string): string | undefined => {
  const parts = file.split('/')
  for (let length = parts.length; length > 0; length--) {
    const name = parts.slice(0, length).join('/')
    if (layerOf.has(name)) return name
  }
  return undefined
}

/** Relative imports of a file. Type imports count, because a type is knowledge of another module too. */
export const importsOf = (file: string, text: string): string[] => {
  const { module } = parseSync(file, text)
  const specifiers = [
    ...module.staticImports.map((found) => found.moduleRequest.value),
    ...module.staticExports.flatMap((found) => found.entries.map((entry) => entry.moduleRequest?.value)),
    ...module.dynamicImports.map((found) =>
      text.slice(found.moduleRequest.start, found.moduleRequest.end).replace(/^['"`]|['"`]$/g, ''),
    ),
  ]
  const relativeOnes = specifiers.filter((name): name is string => name?.startsWith('.') === true)
  return [...new Set(relativeOnes)].map((name) => normalize(join(dirname(file), name)))
}

const importFaults = (file: string, imports: string[]): string[] => {
  const module = moduleOf(file)
  if (module === undefined) return [`${file} is in no module: add it to the layers in scripts/architecture.ts`]
  const layer = layerOf.get(module) as number
  return imports.flatMap((target) => {
    const other = moduleOf(target)
    if (target.startsWith('..')) return [`${file} imports ${target}, which is outside src/`]
    if (other === undefined || other === module) return []
    const otherLayer = layerOf.get(other) as number
    if (otherLayer > layer) return [`${file} imports ${target}: upward, from ${module} to ${other}`]
    if (otherLayer === layer) return [`${file} imports ${target}: ${module} and ${other} are in one layer`]
    return []
  })
}

const circles = (graph: Map<string, string[]>): string[] => {
  const found: string[] = []
  const done = new Set<string>()
  const walk = (file: string, path: string[]): void => {
    const at = path.indexOf(file)
    if (at >= 0) {
      found.push(`circle: ${[...path.slice(at), file].join(' → ')}`)
      return
    }
    if (done.has(file)) return
    for (const next of graph.get(file) ?? []) walk(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) walk(file, [])
  return found
}

/** Statements are declared in a module's `store.ts`, or in the files of its `store/` folder. */
export const isStore = (file: string): boolean => /(^|\/)store(\/[\w-]+)?\.ts$/.test(file)

/** Each decides in one place how far the address of a connection can be believed. */
const addressReaders = new Set(['http/caller-address.ts', 'http/this-machine.ts'])
const readsAddress = /\bremoteAddress\b|x-forwarded-for|\brequest\.ips?\b/i

/** A limit per address that names its own bucket would count the single addresses of IPv6. */
const namesByAddress = /\b(address|ip|source|callerAddress\([^()]*\))\s*\?\?\s*'unknown'/

/** Every other check of a password would forget the limits on guessing it. */
const passwordCheckers = new Set(['accounts/passwords.ts', 'signin/prove-password.ts'])
const checksPassword = /\bverifyPassword\b|\bpasswords\.matches\b/

/** A running process that prepared `select *` fails once a migration adds a column. */
const everyColumn = /\b(select|returning)\s+([\w]+\.)?\*|,\s*\w+\.\*/i

const contentFaults = (file: string, text: string): string[] => {
  const faults: string[] = []
  if (/\bprocess\.env\b/.test(text) && file !== 'main.ts') {
    faults.push(`${file} reads the environment: only main.ts does, through ground/config`)
  }
  if (/\bstatement[<(]/.test(text) && !isStore(file) && file !== 'db/statement.ts') {
    faults.push(`${file} declares a statement: SQL belongs into the store of its module`)
  }
  if (isStore(file) && /\b(now\(\)|current_timestamp|clock_timestamp\(\))/i.test(text)) {
    faults.push(`${file} asks the database for the time: pass the clock's instant in`)
  }
  if (isStore(file) && everyColumn.test(text)) {
    faults.push(`${file} selects every column: list the columns, so that a migration can add one`)
  }
  if (moduleOf(file)?.startsWith('http') && !addressReaders.has(file) && readsAddress.test(text)) {
    faults.push(`${file} reads the address of a connection: use callerAddress or fromThisMachine`)
  }
  if (!passwordCheckers.has(file) && checksPassword.test(text)) {
    faults.push(`${file} checks a password: use ProvePassword`)
  }
  if (file !== 'ground/ip-address.ts' && namesByAddress.test(text)) {
    faults.push(`${file} counts a single address: use bucketsPerAddress or countedNetworks`)
  }
  if (/(^|\/)(utils?|common|helpers?|services?|types|misc)(\/|\.ts$)/.test(file)) {
    faults.push(`${file} has a name that hides its purpose`)
  }
  return faults
}

type Node = { type: string; [key: string]: unknown }

const walkTree = (value: unknown, visit: (node: Node) => void): void => {
  if (Array.isArray(value)) for (const item of value) walkTree(item, visit)
  else if (typeof value === 'object' && value !== null) {
    if ('type' in value) visit(value as Node)
    for (const child of Object.values(value)) walkTree(child, visit)
  }
}

const withoutWrapping = (node: Node): Node =>
  node.type === 'TSAsExpression' || node.type === 'ParenthesizedExpression'
    ? withoutWrapping(node.expression as Node)
    : node

/** A spread of a literal, such as `...{ a, b }`, only keeps values on one line. Layout is the formatter's business. */
export const spreadFaults = (file: string, text: string): string[] => {
  if (!text.includes('...')) return []
  const faults: string[] = []
  walkTree(parseSync(file, text).program, (node) => {
    if (node.type !== 'SpreadElement') return
    const { type } = withoutWrapping(node.argument as Node)
    if (type !== 'ObjectExpression' && type !== 'ArrayExpression') return
    const line = text.slice(0, node.start as number).split('\n').length
    faults.push(`${file}:${line} spreads a literal: write its values without the spread`)
  })
  return faults
}

/** File names that name the same part of every module. */
const partNames = new Set(['store.ts', 'shapes.ts', 'manage.ts', 'read.ts', 'retention.ts'])

/** Routes and pages are named after what they serve, and so is the module that does the work. */
const isRoute = (file: string): boolean => /^http\/(v1|dashboard|public|provider|dev)\//.test(file)

const exportedNames = (file: string, text: string): string[] => {
  const names = parseSync(file, text).module.staticExports.flatMap(({ entries }) =>
    entries.filter((entry) => !entry.moduleRequest).map((entry) => entry.exportName.name),
  )
  // A schema and its type share one name on purpose.
  return [...new Set(names.filter((name): name is string => typeof name === 'string'))]
}

const repeated = (kind: string, places: [name: string, file: string][]): string[] => {
  const byName = Map.groupBy(places, ([name]) => name)
  return [...byName]
    .filter(([, found]) => found.length > 1)
    .map(([name, found]) => `${kind} ${name} is used twice: ${found.map(([, file]) => file).join(', ')}`)
}

const nameFaults = (sources: Sources): string[] => {
  const files = [...sources.keys()].filter((file) => !partNames.has(basename(file)) && !isRoute(file))
  return [
    ...repeated(
      'the file name',
      files.map((file) => [basename(file), file]),
    ),
    ...repeated(
      'the exported name',
      [...sources].flatMap(([file, text]) => exportedNames(file, text).map((name) => [name, file] as [string, string])),
    ),
  ]
}

export const architectureFaults = (sources: Sources): string[] => {
  const graph = new Map([...sources].map(([file, text]) => [file, importsOf(file, text)]))
  return [
    ...[...graph].flatMap(([file, imports]) => importFaults(file, imports)),
    ...circles(graph),
    ...[...sources].flatMap(([file, text]) => contentFaults(file, text)),
    ...nameFaults(sources),
  ]
}

const sourcesIn = (root: string, keep: (file: string) => boolean): Sources => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && keep(file))
    .map((file) => relative(root, join(root, file)))
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
}

/** Everything under src/ except tests and their harnesses. */
export const readSources = (root: string): Sources =>
  sourcesIn(root, (file) => !/\.test\.ts$|(^|\/)harness\.ts$/.test(file))

/** All code of the project, tests included. */
export const readAllCode = (root: string): Sources =>
  new Map(
    ['src', 'test', 'bench', 'scripts'].flatMap((folder) =>
      [...sourcesIn(join(root, folder), () => true)].map(([file, text]) => [join(folder, file), text] as const),
    ),
  )
