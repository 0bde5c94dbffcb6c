/** Holds the house to its floors: imports go down only, never to a sibling, never in a circle. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { parseSync } from 'oxc-parser'

/**
 * Rooms by floor, lowest first. A room is a folder under src/ or a file at its top; rooms on one floor are
 * siblings and do not know each other. The longest matching name wins, so `http/v1` stands above `http`.
 */
export const layers: string[][] = [
  ['ground'],
  ['db'],
  ['providers', 'outgoing'],
  ['limits', 'settings', 'idempotency', 'events', 'audit'],
  ['orgs'],
  ['usage'],
  ['keys', 'accounts', 'projects', 'tenants', 'suppressions'],
  ['admission', 'domains', 'senders', 'templates', 'tracking', 'webhooks'],
  ['messages'],
  ['operator'],
  ['worker'],
  ['http', 'submission'],
  ['http/v1', 'http/dashboard', 'http/public', 'http/provider', 'http/dev'],
  ['wiring'],
  ['command'],
  ['main.ts'],
]

export type Sources = Map<string, string>

const floorOf = new Map(layers.flatMap((modules, floor) => modules.map((room) => [room, floor] as const)))

export const moduleOf = (file: string): string | undefined => {
  const parts = file.split('/')
  for (let length = parts.length; length > 0; length--) {
    const name = parts.slice(0, length).join('/')
    if (floorOf.has(name)) return name
  }
  return undefined
}

/** Relative imports of a file, types included: a type is knowledge too. */
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

const edgeFaults = (file: string, imports: string[]): string[] => {
  const room = moduleOf(file)
  if (room === undefined) return [`${file} is in no room: add it to the floors in scripts/architecture.ts`]
  const floor = floorOf.get(room) as number
  return imports.flatMap((target) => {
    const other = moduleOf(target)
    if (target.startsWith('..')) return [`${file} reaches out of src/ to ${target}`]
    if (other === undefined || other === room) return []
    const otherFloor = floorOf.get(other) as number
    if (otherFloor > floor) return [`${file} imports ${target}: upward, from ${room} to ${other}`]
    if (otherFloor === floor) return [`${file} imports ${target}: ${room} and ${other} are siblings`]
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

/** Rules on what a file may hold, by where it is. */
const contentFaults = (file: string, text: string): string[] => {
  const faults: string[] = []
  if (/\bprocess\.env\b/.test(text) && file !== 'main.ts') {
    faults.push(`${file} reads the environment: only main.ts does, through ground/config.ts`)
  }
  if (/\bstatement[<(]/.test(text) && !isStore(file) && file !== 'db/statement.ts') {
    faults.push(`${file} declares a statement: SQL belongs into the store.ts of its slice`)
  }
  if (isStore(file) && /\b(now\(\)|current_timestamp|clock_timestamp\(\))/i.test(text)) {
    faults.push(`${file} asks the database for the time: pass the clock's instant in`)
  }
  if (/(^|\/)(utils?|common|helpers?|services?|types|misc)(\/|\.ts$)/.test(file)) {
    faults.push(`${file} has a name that hides what it holds`)
  }
  return faults
}

export const architectureFaults = (sources: Sources): string[] => {
  const graph = new Map([...sources].map(([file, text]) => [file, importsOf(file, text)]))
  return [
    ...[...graph].flatMap(([file, imports]) => edgeFaults(file, imports)),
    ...circles(graph),
    ...[...sources].flatMap(([file, text]) => contentFaults(file, text)),
  ]
}

/** Everything under src/ but the tests and what only they use. */
export const readSources = (root: string): Sources => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/\.test\.ts$|(^|\/)harness\.ts$/.test(file))
    .map((file) => relative(root, join(root, file)))
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
}
