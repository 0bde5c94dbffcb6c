/** How much JavaScript a browser loads before it can show a page, compressed. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

type Chunk = { file: string; imports?: string[]; dynamicImports?: string[] }
type Manifest = Record<string, Chunk>

const withImports = (manifest: Manifest, names: readonly string[]): Set<string> => {
  const found = new Set<string>()
  const walk = (name: string): void => {
    if (found.has(name)) return
    found.add(name)
    for (const next of manifest[name]?.imports ?? []) walk(next)
  }
  for (const name of names) walk(name)
  return found
}

/** Every page with the entry and all that both import, the largest first. */
export const firstLoads = (folder: string): { page: string; bytes: number }[] => {
  const manifest = JSON.parse(readFileSync(join(folder, '.vite', 'manifest.json'), 'utf8')) as Manifest
  const sizeOf = (name: string): number => {
    const { file } = manifest[name] as Chunk
    return file.endsWith('.js') ? statSync(join(folder, `${file}.br`)).size : 0
  }
  const views = Object.keys(manifest).filter((name) => /^src\/pages\/.*view\.tsx$/.test(name))
  return views
    .map((page) => ({
      page,
      bytes: [...withImports(manifest, ['index.html', page])].reduce((sum, name) => sum + sizeOf(name), 0),
    }))
    .sort((a, b) => b.bytes - a.bytes)
}
