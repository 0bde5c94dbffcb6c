/** Attributes the time and the memory of a profile to parts of the program. */
import { house } from '../../scripts/architecture.ts'

type CallFrame = { functionName: string; url: string; lineNumber: number }

export type CpuProfile = {
  nodes: { id: number; callFrame: CallFrame; children?: number[] }[]
  samples: number[]
  /** In microseconds, one for each sample. */
  timeDeltas: number[]
}

export type HeapNode = { callFrame: CallFrame; selfSize: number; children: HeapNode[] }

/** Sums by part: microseconds or bytes. */
export type ByPart = Record<string, number>

const nodeParts: [RegExp, string][] = [
  [
    /^node:(_?https?|_http_\w+|net|_?stream\w*|internal\/(http|net|streams|stream_base\w*|js_stream\w*))/,
    'Node: http, net, streams',
  ],
  [
    /^node:(async_hooks|timers|internal\/(process|async_hooks|async_local_storage|timers|promises))/,
    'Node: ticks, async context',
  ],
  [/^node:(crypto|internal\/crypto)/, 'crypto'],
  [/^node:/, 'Node: other'],
]

const packageParts: [RegExp, string][] = [
  [
    /^(fastify|@fastify\/.*|find-my-way|avvio|light-my-request|fast-json-stringify|secure-json-parse|toad-cache)$/,
    'Fastify',
  ],
  [/^(pg|pg-protocol|pg-pool|pg-types|postgres-.*)$/, 'pg client'],
  [/^(pino|sonic-boom|thread-stream)$/, 'log (pino)'],
]

/** Folders whose parts are worth a line of their own. */
const split = new Set(['http', 'messages', 'providers'])

const roomsWithFolders = new Set(
  house.flatMap((floor) => Object.entries(floor).flatMap(([room, layers]) => (layers[0]?.[0] ? [room] : []))),
)

/** The folder, without its room: releases before the rooms have the same folders. */
const ownPart = (path: string): string => {
  const parts = path.split('/')
  const isInRoom = parts.length > 2 && roomsWithFolders.has(parts[0] as string)
  const [folder = '', next] = isInRoom ? parts.slice(1) : parts
  return split.has(folder) && next !== undefined && !next.endsWith('.ts') ? `${folder}/${next}` : folder
}

/** Undefined for frames without a file, such as built-in functions, which count for their caller. */
const partOfFrame = ({ url, functionName }: CallFrame): string | undefined => {
  if (functionName === '(garbage collector)') return 'garbage collector'
  if (functionName === '(program)') return 'native code'
  // The profiler itself runs at the start and at the end of a profile.
  if (functionName === '(idle)' || url.startsWith('node:inspector')) return 'idle'
  if (url === '') return undefined
  const node = nodeParts.find(([pattern]) => pattern.test(url))
  if (node) return node[1]
  const [, inPackage] = /^((?:@[^/]+\/)?[^/]+)/.exec(url.split('/node_modules/').slice(1).at(-1) ?? '') ?? []
  if (inPackage !== undefined) return packageParts.find(([pattern]) => pattern.test(inPackage))?.[1] ?? inPackage
  const own = /\/src\/(.+)$/.exec(url)?.[1]
  return own === undefined ? 'other' : ownPart(own)
}

const add = (sums: ByPart, part: string, amount: number): void => {
  sums[part] = (sums[part] ?? 0) + amount
}

/** The part of each node by its id. */
const partsOfNodes = ({ nodes }: CpuProfile): Map<number, string> => {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parts = new Map<number, string>()
  const walk = (id: number, ofCaller: string): void => {
    const node = byId.get(id)
    if (!node) return
    const part = partOfFrame(node.callFrame) ?? ofCaller
    parts.set(id, part)
    for (const child of node.children ?? []) walk(child, part)
  }
  const [root] = nodes
  if (root) walk(root.id, 'other')
  return parts
}

/** Microseconds by part. The time in which nothing ran is left out. */
export const timeByPart = (profile: CpuProfile): ByPart => {
  const parts = partsOfNodes(profile)
  const sums: ByPart = {}
  for (const [i, id] of profile.samples.entries()) add(sums, parts.get(id) ?? 'other', profile.timeDeltas[i] ?? 0)
  delete sums.idle
  return sums
}

/** `send sending/messages/send.ts:120`. Built-in functions have no file. */
const nameOfFrame = ({ functionName, url, lineNumber }: CallFrame): string => {
  const file = url.replace(/^.*\/(?:src|node_modules)\//, '')
  return `${functionName || '(anonymous)'} ${file && `${file}:${lineNumber + 1}`}`.trimEnd()
}

/** Microseconds that each function took itself. */
export const timeByFunction = ({ nodes, samples, timeDeltas }: CpuProfile): ByPart => {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOfFrame(callFrame)]))
  const sums: ByPart = {}
  const idle = new Set(nodes.filter(({ callFrame }) => partOfFrame(callFrame) === 'idle').map(({ id }) => id))
  for (const [i, id] of samples.entries()) {
    if (!idle.has(id)) add(sums, names.get(id) ?? 'other', timeDeltas[i] ?? 0)
  }
  return sums
}

/** Allocated bytes by part. */
export const bytesByPart = (head: HeapNode): ByPart => {
  const sums: ByPart = {}
  const walk = ({ callFrame, selfSize, children }: HeapNode, ofCaller: string): void => {
    const part = partOfFrame(callFrame) ?? ofCaller
    add(sums, part, selfSize)
    for (const child of children) walk(child, part)
  }
  walk(head, 'other')
  return sums
}
