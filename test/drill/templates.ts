/** The files of deploy/ha, with values in place of their names. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'

const folder = join(import.meta.dirname, '..', '..', 'deploy', 'ha')

export const templates = ['etcd.env', 'patroni.yml', 'haproxy.cfg', 'redis.conf', 'sentinel.conf'] as const
export type Template = (typeof templates)[number]
export type Values = Record<string, string | number>

const nameInBraces = /\$\{(\w+)\}/g

const readTemplate = (file: string): Promise<string> => readFile(join(folder, file), 'utf8')

/** The names that a template uses. */
export const namesIn = async (file: Template): Promise<string[]> =>
  [...(await readTemplate(file)).matchAll(nameInBraces)].map(([, name]) => name as string)

/** The values of the first machine, as deploy/ha has them. */
export const exampleValues = async (): Promise<Values> => parseEnv(await readTemplate('values.env')) as Values

export const fillIn = async (file: Template, values: Values): Promise<string> =>
  (await readTemplate(file)).replaceAll(nameInBraces, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`${file} needs a value for ${name}`)
    return String(value)
  })

/** Only its owner can read the file, because some of them contain passwords. */
export const writeFilled = async (path: string, file: Template, values: Values, more = ''): Promise<void> =>
  writeFile(path, `${await fillIn(file, values)}${more}`, { mode: 0o600 })
