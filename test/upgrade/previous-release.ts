/** Extracts the sources of the previous release, whose processes still run while a new release migrates the database. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')

export type Extracted = { folder: string; commit: string } | { skipped: string }

/**
 * The file `previous-release` holds the commit of the latest release. Every release replaces it with its own. The
 * present node_modules are used, so a release that needs a removed dependency does not build.
 */
export const extractPreviousRelease = async (folder: string): Promise<Extracted> => {
  const commit = (await readFile(join(import.meta.dirname, 'previous-release'), 'utf8')).trim()
  const git = (...args: string[]) => run('git', args, { cwd: root })
  const found = await git('cat-file', '-e', `${commit}^{commit}`).then(
    () => true,
    () => false,
  )
  if (!found) return { skipped: `commit ${commit} is not in this clone: run git fetch --unshallow` }
  await mkdir(folder, { recursive: true })
  const archive = join(folder, 'sources.tar')
  await git('archive', `--output=${archive}`, commit)
  await run('tar', ['-xf', archive, '-C', folder])
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  return { folder, commit }
}

export const presentRelease = root
