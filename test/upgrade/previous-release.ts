/** Extracts the sources of the previous release, whose processes still run while a new release migrates the database. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
const git = (...args: string[]) => run('git', args, { cwd: root })

/** The file `previous-release` holds the commit of the latest release. Every release replaces it with its own. */
export const previousCommit = async (): Promise<string> =>
  (await readFile(join(import.meta.dirname, 'previous-release'), 'utf8')).trim()

/** Why nothing can be done with a commit, or undefined if the clone has it. */
export const missingCommit = (commit: string): Promise<string | undefined> =>
  git('cat-file', '-e', `${commit}^{commit}`).then(
    () => undefined,
    () => `commit ${commit} is not in this clone. Run git fetch --unshallow, and try again.`,
  )

/** The names of the migrations that a release has. */
export const migrationsAt = async (commit: string): Promise<string[]> => {
  // Releases before 0.2 had no rooms.
  const folders = ['src/platform/db/migrations/', 'src/db/migrations/']
  const { stdout } = await git('ls-tree', '--name-only', commit, ...folders)
  return stdout.trim().split('\n')
}

export type Extracted = { folder: string; commit: string } | { skipped: string }

/** The present node_modules are used, so a release that needs a removed dependency does not build. */
export const extractRelease = async (commit: string, folder: string): Promise<Extracted> => {
  const skipped = await missingCommit(commit)
  if (skipped !== undefined) return { skipped }
  await mkdir(folder, { recursive: true })
  const archive = join(folder, 'sources.tar')
  await git('archive', `--output=${archive}`, commit)
  await run('tar', ['-xf', archive, '-C', folder])
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  return { folder, commit }
}

export const presentRelease = root
