/** A tree of sources whose programs the contenders are: the present one, or that of another commit. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { serviceFlags } from '../bin/flags.js'
import { extractRelease, presentRelease } from '../test/upgrade/previous-release.ts'

export type Tree = {
  folder: string
  /** The short name of its commit. The present tree has none, because it may contain changes. */
  name: string
  /** The Node flags with which its `npm start` runs the service. */
  serviceFlags: string[]
}

export const presentTree: Tree = { folder: presentRelease, name: 'the present tree', serviceFlags }

/** The names that programs had in earlier commits. */
const formerNames: Record<string, string> = { 'bench/servers/service.ts': 'bench/servers/house.ts' }

/** The Node flags with which `npm start` runs the service of the tree in that folder. */
export const flagsOf = async (folder: string): Promise<string[]> =>
  (await import(pathToFileURL(join(folder, 'bin', 'flags.js')).href)).serviceFlags

/** Throws an error whose message is for the user. */
export const openTree = async (named: string, folder: string): Promise<Tree> => {
  const extracted = await extractRelease(named, folder)
  if ('skipped' in extracted) throw new Error(extracted.skipped)
  const args = ['rev-parse', '--short=7', `${named}^{commit}`]
  const { stdout } = await promisify(execFile)('git', args, { cwd: presentRelease })
  return { folder, name: stdout.trim(), serviceFlags: await flagsOf(folder) }
}

/** The same program in another tree, or undefined if that tree does not have it. */
export const programIn = ({ folder }: Tree, program: URL): URL | undefined => {
  const path = relative(presentRelease, fileURLToPath(program))
  const file = [path, formerNames[path] ?? path].map((name) => join(folder, name)).find((name) => existsSync(name))
  return file === undefined ? undefined : pathToFileURL(file)
}
