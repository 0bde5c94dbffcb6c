/** Reads a Dockerfile into its stages, so that tests can run its commands without a container engine. */
import { readFileSync } from 'node:fs'

export type Instruction = { name: string; text: string }
export type Stage = { from: string; as: string | undefined; instructions: Instruction[] }

export const repository = new URL('../../', import.meta.url)

export const readStages = (path = 'Dockerfile'): Stage[] => {
  const lines = readFileSync(new URL(path, repository), 'utf8')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  const stages: Stage[] = []
  for (const line of lines) {
    const [, name = '', text = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    const [, from = '', as] = name === 'FROM' ? (/^(\S+)(?: AS (\S+))?$/.exec(text) ?? []) : []
    if (name === 'FROM') stages.push({ from, as, instructions: [] })
    else stages.at(-1)?.instructions.push({ name, text })
  }
  return stages
}

export const textsOf = ({ instructions }: Stage, name: string): string[] =>
  instructions.filter((instruction) => instruction.name === name).map(({ text }) => text)

/** The variables of the image. */
export const variablesOf = (stage: Stage): Record<string, string> =>
  Object.fromEntries(
    textsOf(stage, 'ENV').flatMap((text) =>
      text.split(/\s+/).map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
    ),
  )

export type Copy = { fromBuild: boolean; sources: string[]; target: string }

export const copiesOf = (stage: Stage): Copy[] =>
  textsOf(stage, 'COPY').map((text) => {
    const words = text.split(/\s+/)
    const paths = words.filter((word) => !word.startsWith('--'))
    return {
      fromBuild: words.includes('--from=build'),
      sources: paths.slice(0, -1).map((path) => path.replace(/^\/app\//, '')),
      target: paths.at(-1) as string,
    }
  })

/** An instruction in its JSON form. */
export const wordsOf = (stage: Stage, name: string): string[] => {
  const text = textsOf(stage, name)[0] ?? '[]'
  return JSON.parse(text.slice(text.indexOf('[')))
}
