import { parseArgs } from 'node:util'

export type Arguments = { only: string[]; json: boolean; list: boolean; quick: boolean; help: boolean }

export const usage = `npm run bench -- [options]
  --only <name>  one bench; repeat it or separate names with commas for several
  --json         one JSON line per result on standard output, and nothing else
  --quick        one short round each: shows that everything runs, not how fast
  --list         the benches there are`

/** Throws with a sentence for the person who typed it. */
export const readArguments = (args: string[], known: string[]): Arguments => {
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      json: flag,
      list: flag,
      quick: flag,
      help: flag,
    },
  })
  const only = values.only.flatMap((names) => names.split(',')).map((name) => name.trim())
  for (const name of only) {
    if (!known.includes(name)) throw new Error(`no bench is named '${name}'; there are: ${known.join(', ')}`)
  }
  return { ...values, only }
}
