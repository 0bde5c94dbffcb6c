/**
 * Stack traces of the bundle with the places in the sources. Node could do this too, but it would read the source map at
 * every start and translate every stack. Here the map is read when the first stack is shown.
 */
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

/** The bundle, once built. The sources themselves have no map. */
const bundle = import.meta.url

const readMap = (): SourceMap | undefined => {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${bundle}.map`), 'utf8')))
  } catch {
    return undefined
  }
}

let map: { read: SourceMap | undefined } | undefined

const inBundle = new RegExp(`${RegExp.escape(bundle)}:(\\d+):(\\d+)`, 'g')

/** The line is exact. The map has no columns. */
const placeInSources = (place: string, line: string, column: string): string => {
  map ??= { read: readMap() }
  const entry = map.read?.findEntry(Number(line) - 1, Number(column) - 1)
  if (!entry || !('originalSource' in entry) || !entry.originalSource) return place
  return `${fileURLToPath(new URL(entry.originalSource, bundle))}:${entry.originalLine + 1}`
}

export const showStack = (stack: string): string => stack.replaceAll(inBundle, placeInSources)
