import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** The version of the package this code came in, whether it runs from its sources or bundled. */
export const readServiceVersion = (): string => {
  const path = findPackageJSON(import.meta.url)
  if (path === undefined) throw new Error('there is no package.json above this file')
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}
