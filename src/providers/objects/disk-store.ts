/** An object store in a folder. An object gets its name once all of it is on the disk. */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, link, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { expecting } from '../expected-errors.ts'
import { makeFaultless, type ObjectStore, ObjectStoreFault, TooLargeFault } from './object-store.ts'

/** Starts with a dot, so it is not listed. */
const unfinishedFolder = '.unfinished'

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException).code ?? '')
const isPresent = (error: unknown): boolean => codeOf(error) === 'EEXIST'

/** Without the path, which is nobody's business but the operator's. */
export const diskFault = (error: unknown): Error => {
  if (error instanceof ObjectStoreFault || error instanceof TooLargeFault) return error
  const code = codeOf(error)
  const full = code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG'
  return new ObjectStoreFault(`the folder could not be used (${code || (error as Error).name})`, full)
}

const { faultless, orAbsent } = makeFaultless(diskFault, (error) => codeOf(error) === 'ENOENT')

async function* filesIn(folder: string, before = ''): AsyncGenerator<string> {
  const entries = (await orAbsent(() => readdir(folder, { withFileTypes: true }))) ?? []
  // The order of the bytes of whole names, in which a folder ends with its slash.
  const names = entries
    .filter(({ name }) => !name.startsWith('.'))
    .map((entry) => ({ name: entry.isDirectory() ? `${entry.name}/` : entry.name, isFolder: entry.isDirectory() }))
  for (const { name, isFolder } of names.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))) {
    if (isFolder) yield* filesIn(join(folder, name), `${before}${name}`)
    else yield `${before}${name}`
  }
}

const fill = async (file: FileHandle, content: AsyncIterable<Buffer>): Promise<void> => {
  for await (const chunk of content) await faultless(() => file.write(chunk))
  await faultless(() => file.sync())
}

/** Otherwise the name can be lost when the machine stops. */
const syncFolder = async (path: string): Promise<void> => {
  const opened = await open(path, 'r')
  await opened.sync().finally(() => opened.close())
}

export const makeDiskStore = ({ folder }: { folder: string }): ObjectStore => {
  const pathOf = (name: string): string => {
    if (name.split('/').some((part) => part === '' || part.startsWith('.'))) throw new Error(`${name} is not a name`)
    return join(folder, name)
  }
  const unfinished = join(folder, unfinishedFolder)

  const write: ObjectStore['write'] = async (name, content) => {
    const path = pathOf(name)
    const partial = join(unfinished, randomUUID())
    const file = await faultless(async () => {
      await mkdir(unfinished, { recursive: true, mode: 0o700 })
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      return open(partial, 'wx', 0o600)
    })
    try {
      await fill(file, content)
      return await faultless(async () => {
        // Unlike a rename, a link never replaces a file.
        const linked = link(partial, path).then(() => true)
        if (!(await expecting(isPresent, linked))) return false
        await syncFolder(dirname(path))
        return true
      })
    } finally {
      await file.close().catch(() => undefined)
      await rm(partial, { force: true }).catch(() => undefined)
    }
  }

  const sizeOf: ObjectStore['sizeOf'] = async (name) => (await orAbsent(() => stat(pathOf(name))))?.size

  return {
    write,
    put: (name, content) => write(name, Readable.from([content])),
    sizeOf,
    get: async (name, maxBytes) => {
      const size = await sizeOf(name)
      if (size === undefined) return undefined
      if (size > maxBytes) throw new TooLargeFault(`the object has more than ${maxBytes} bytes`)
      return orAbsent(() => readFile(pathOf(name)))
    },
    read: async (name, range) => {
      const file = await orAbsent(() => open(pathOf(name), 'r'))
      return file && createReadStream('', { fd: file, ...(range && { start: range.from, end: range.to }) })
    },
    list: async function* (prefix = '') {
      for await (const name of filesIn(folder)) if (name.startsWith(prefix)) yield name
    },
    remove: async (name) => {
      await faultless(() => rm(pathOf(name), { force: true }))
    },
    removeUnfinished: async (before) => {
      let removed = 0
      for (const name of (await orAbsent(() => readdir(unfinished))) ?? []) {
        const path = join(unfinished, name)
        const found = await orAbsent(() => stat(path))
        // Growing files have a new time.
        if (!found || found.mtime >= before) continue
        await faultless(() => rm(path, { force: true }))
        removed++
      }
      return removed
    },
    close: () => undefined,
  }
}
