/** Secrets from files: `NAME_FILE` names a file with the value of the secret variable `NAME`. */
import { closeSync, openSync, readSync } from 'node:fs'
import { allVariables, type VariableName } from './env-variables.ts'

/** Larger than any secret, and small enough to read whatever the path leads to. */
const maxBytes = 65_536

export const secretNames: VariableName[] = allVariables.flatMap(([name, { secret }]) => (secret ? [name] : []))

export const fileVariableOf = (name: string): string => `${name}_FILE`

/** Reads at most one byte more than allowed. */
const readStart = (path: string): Buffer => {
  const buffer = Buffer.alloc(maxBytes + 1)
  const file = openSync(path, 'r')
  try {
    let length = 0
    for (;;) {
      const read = readSync(file, buffer, length, buffer.length - length, null)
      length += read
      if (read === 0 || length === buffer.length) return buffer.subarray(0, length)
    }
  } finally {
    closeSync(file)
  }
}

type Found = { text: string } | { fault: string }

const readSecretFile = (name: string, path: string): Found => {
  const subject = `${fileVariableOf(name)} ${path}`
  try {
    const bytes = readStart(path)
    if (bytes.length > maxBytes) return { fault: `${subject} must be a file of at most ${maxBytes} bytes.` }
    const text = bytes.toString('utf8').replace(/\r?\n$/, '')
    return text.trim() === '' ? { fault: `${subject} is empty: write the value of ${name} to it.` } : { text }
  } catch (error) {
    return { fault: `${subject} cannot be read: ${(error as Error).message}.` }
  }
}

/** The environment with the secrets that were read from files. */
export const withSecretFiles = (env: NodeJS.ProcessEnv): { env: NodeJS.ProcessEnv; faults: string[] } => {
  const read: NodeJS.ProcessEnv = { ...env }
  const faults: string[] = []
  for (const name of secretNames) {
    const path = env[fileVariableOf(name)]?.trim()
    if (!path) continue
    if (env[name]?.trim()) {
      faults.push(`${name} and ${fileVariableOf(name)} are both set: remove one of them.`)
      continue
    }
    const found = readSecretFile(name, path)
    if ('fault' in found) faults.push(found.fault)
    else read[name] = found.text
  }
  return { env: read, faults }
}
