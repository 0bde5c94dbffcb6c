/** The rules that `npm run check` enforces on the sources: layers, where things are declared, and unique names. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize, relative } from 'node:path'
import { parseSync } from 'oxc-parser'

/** A room is a folder under src/. Its folders are arranged in layers, highest first; '' is a room without folders. */
type Floor = Record<string, string[][]>

/**
 * The rooms by floor, highest first. Rooms of one floor do not import each other, and neither do folders of one layer. The
 * longest matching name wins, so `http/v1` is above `http`.
 */
export const house: Floor[] = [
  { app: [['command'], ['wiring'], ['operator']] },
  {
    interfaces: [
      [
        'http/v1',
        'http/dashboard',
        'http/public',
        'http/web',
        'http/oauth',
        'http/mcp',
        'http/provider',
        'http/scim',
        'http/dev',
        'inbound-smtp',
      ],
      ['http', 'submission'],
      ['worker'],
    ],
  },
  { sending: [['blasts', 'inbound', 'verifications'], ['messages'], ['templates', 'tracking']] },
  { reports: [['analytics', 'exports', 'overview', 'health']] },
  { people: [['billing', 'scim', 'sso'], ['team'], ['oauth', 'signin']] },
  { senders: [['domains', 'sms']], recipients: [['audiences'], ['suppressions']], webhooks: [['']] },
  { customers: [['admission'], ['accounts', 'keys', 'projects', 'tenants'], ['usage'], ['orgs']] },
  { journal: [['audit', 'events']] },
  { providers: [['']] },
  {
    platform: [
      ['processes'],
      ['replica'],
      ['idempotency', 'limits', 'settings'],
      ['outgoing', 'traces'],
      ['db'],
      ['ground'],
    ],
  },
]

/** The file at the top of src/, which imports what it likes. */
const entry = 'main.ts'

type Place = { floor: number; room: string; layer: number }

/** The places of the folders, such as `customers/keys`. */
export const places: Map<string, Place> = new Map(
  house.flatMap((rooms, floor) =>
    Object.entries(rooms).flatMap(([room, layers]) =>
      layers.flatMap((folders, layer) =>
        folders.map((folder) => [folder === '' ? room : `${room}/${folder}`, { floor, room, layer }] as const),
      ),
    ),
  ),
)

export type Sources = Map<string, string>

export const moduleOf = (file: string): string | undefined => {
  const parts = file.split('/')
  for (let length = parts.length; length > 0; length--) {
    const name = parts.slice(0, length).join('/')
    if (places.has(name)) return name
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

/** Why a folder may not import another, or undefined if it may. */
const faultBetween = (from: string, to: string): string | undefined => {
  const [above, below] = [places.get(from) as Place, places.get(to) as Place]
  const sameRoom = above.room === below.room
  const depth = sameRoom ? below.layer - above.layer : below.floor - above.floor
  if (depth < 0) return `upward, from ${from} to ${to}`
  if (depth === 0) return `${from} and ${to} are ${sameRoom ? 'in one layer' : 'on one floor'}`
  return undefined
}

const importFaults = (file: string, imports: string[]): string[] => {
  const module = moduleOf(file)
  if (module === undefined && file !== entry)
    return [`${file} is in no room: add it to the house in scripts/architecture.ts`]
  return imports.flatMap((target) => {
    const other = moduleOf(target)
    if (target.startsWith('..')) return [`${file} imports ${target}, which is outside src/`]
    if (target === entry) return [`${file} imports ${target}: upward`]
    if (module === undefined || other === undefined || other === module) return []
    const fault = faultBetween(module, other)
    return fault === undefined ? [] : [`${file} imports ${target}: ${fault}`]
  })
}

/**
 * The folders of the dashboard in web/src, highest first: each imports those below it only. What several groups of pages
 * share is in `parts`, so a page imports nothing of another group. Files at the top, such as the router, import what they like.
 */
export const dashboardLayers = ['shell', 'pages', 'parts', 'mail', 'ui', 'api', 'strings']

/** A page belongs to the group whose folder it is in, such as `messages`. Files directly in pages/ list the pages. */
const pageGroup = (file: string): string | undefined => /^pages\/([^/]+)\//.exec(file)?.[1]

const dashboardFault = (from: string, to: string): string | undefined => {
  const [above = '', below = ''] = [from.split('/'), to.split('/')].map(([folder]) => folder)
  if (to.startsWith('..')) return `${to} is outside web/src/`
  const depth = dashboardLayers.indexOf(below) - dashboardLayers.indexOf(above)
  if (from.includes('/') && depth < 0) return `upward, from ${above} to ${to.includes('/') ? below : 'the top'}`
  const [group, other] = [pageGroup(from), pageGroup(to)]
  if (group !== undefined && other !== undefined && group !== other) {
    return `pages/${group} and pages/${other} are apart: move what they share to parts/`
  }
  return undefined
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
const addressReaders = new Set(['interfaces/http/caller-address.ts', 'interfaces/http/this-machine.ts'])
const readsAddress = /\bremoteAddress\b|x-forwarded-for|\brequest\.ips?\b/i

/** Which statement a list needs would otherwise be decided once for each of its routes. */
const importsDatabase = /from '[^']*platform\/db\/pool\.ts'/

/** A limit per address that names its own bucket would count the single addresses of IPv6. */
const namesByAddress = /\b(address|ip|source|callerAddress\([^()]*\))\s*\?\?\s*'unknown'/

/** Every other check of a password would forget the limits on guessing it. */
const passwordCheckers = new Set(['customers/accounts/passwords.ts', 'people/signin/prove-password.ts'])
const checksPassword = /\bverifyPassword\b|\bpasswords\.matches\b/

/** A `Failure` is an error of the caller, with a code of the catalogue. Every other class ends in `Fault`. */
const otherErrorName = /\bclass (?!Failure\b|\w*Fault\b)(\w+) extends \w*(?:Error|Fault)\b/

/** A running process that prepared `select *` fails once a migration adds a column. */
const everyColumn = /\b(select|returning)\s+([\w]+\.)?\*|,\s*\w+\.\*/i

const contentFaults = (file: string, text: string): string[] => {
  const faults: string[] = []
  if (/\bprocess\.env\b/.test(text) && file !== 'main.ts') {
    faults.push(`${file} reads the environment: only main.ts does, through platform/ground/config`)
  }
  if (/\bstatement[<(]/.test(text) && !isStore(file) && file !== 'platform/db/statement.ts') {
    faults.push(`${file} declares a statement: SQL belongs into the store of its module`)
  }
  if (isStore(file) && /\b(now\(\)|current_timestamp|clock_timestamp\(\))/i.test(text)) {
    faults.push(`${file} asks the database for the time: pass the clock's instant in`)
  }
  if (isStore(file) && everyColumn.test(text)) {
    faults.push(`${file} selects every column: list the columns, so that a migration can add one`)
  }
  if (moduleOf(file)?.startsWith('interfaces/http') && !addressReaders.has(file) && readsAddress.test(text)) {
    faults.push(`${file} reads the address of a connection: use callerAddress or fromThisMachine`)
  }
  if (moduleOf(file)?.startsWith('interfaces/http') && importsDatabase.test(text)) {
    faults.push(`${file} calls the database: routes call the actions of a module`)
  }
  if (!passwordCheckers.has(file) && checksPassword.test(text)) {
    faults.push(`${file} checks a password: use ProvePassword`)
  }
  if (file !== 'platform/ground/ip-address.ts' && namesByAddress.test(text)) {
    faults.push(`${file} counts a single address: use bucketsPerAddress or countedNetworks`)
  }
  const misnamed = otherErrorName.exec(text)?.[1]
  if (misnamed !== undefined) faults.push(`${file} names an error ${misnamed}: end its name in Fault`)
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
const isRoute = (file: string): boolean => /^interfaces\/http\/(v1|dashboard|public|provider|dev)\//.test(file)

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

/** With both, a reader has to look for a statement in two places. */
const storeFaults = (files: string[]): string[] =>
  files
    .filter((file) => basename(file) === 'store.ts')
    .filter((file) => files.some((other) => other.startsWith(`${dirname(file)}/store/`)))
    .map((file) => `${file} and ${dirname(file)}/store/ are both there: move the statements into the folder`)

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
    ...storeFaults([...sources.keys()]),
  ]
}

/** The rules for the dashboard. */
export const dashboardFaults = (sources: Sources): string[] => {
  const graph = new Map([...sources].map(([file, text]) => [file, importsOf(file, text)]))
  const strays = [...sources.keys()].filter((file) => {
    const [folder = '', ...rest] = file.split('/')
    return rest.length > 0 && !dashboardLayers.includes(folder)
  })
  return [
    ...strays.map((file) => `${file} is in no layer: add it to dashboardLayers in scripts/architecture.ts`),
    ...[...graph].flatMap(([file, imports]) =>
      imports.flatMap((target) => {
        const fault = dashboardFault(file, target)
        return fault === undefined ? [] : [`${file} imports ${target}: ${fault}`]
      }),
    ),
    ...circles(graph),
  ]
}

const sourcesIn = (root: string, keep: (file: string) => boolean): Sources => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && keep(file))
    .map((file) => relative(root, join(root, file)))
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
}

/** Everything under src/ except tests. */
export const readSources = (root: string): Sources => sourcesIn(root, (file) => !file.endsWith('.test.ts'))

/** The dashboard without the types that are generated for it. */
export const readDashboard = (root: string): Sources =>
  sourcesIn(join(root, 'web', 'src'), (file) => !file.endsWith('.gen.ts'))

/** All code of the project outside the dashboard, tests included. */
export const readAllCode = (root: string): Sources =>
  new Map(
    ['src', 'test', 'bench', 'scripts'].flatMap((folder) =>
      [...sourcesIn(join(root, folder), () => true)].map(([file, text]) => [join(folder, file), text] as const),
    ),
  )
