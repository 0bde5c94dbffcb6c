import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** The version of this package. Works from the sources and from the bundle. */
export const readServiceVersion = (): string => {
  const path = findPackageJSON(import.meta.url)
  if (path === undefined) throw new Error('package.json was not found in any parent folder')
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}
