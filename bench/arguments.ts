import { parseArgs } from 'node:util'
import { startOnlyOption } from '../scripts/start-only.ts'

export type Arguments = {
  only: string[]
  /** Another commit, whose contenders are measured in the same run. */
  against: string | undefined
  json: boolean
  save: boolean
  list: boolean
  quick: boolean
  help: boolean
  startOnly: boolean
}

export const usage = `npm run bench -- [options]
  --only <name>  run only this bench; repeat the option or separate names with commas for several
  --against <commit>
                 run the contenders of another commit too, in turns with the present ones, and show the ratio
  --json         print only one JSON line per result on standard output
  --save         with --only, replace the results of these benches in bench/RESULTS.md; a full run always writes it,
                 and one with --against writes it only with --save, in sections of its own
  --quick        run one short round each, to check that everything works; its figures mean nothing
  --list         list the benches`

/** Throws an error whose message is for the user. */
export const readArguments = (args: string[], known: string[]): Arguments => {
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      against: { type: 'string' },
      json: flag,
      save: flag,
      list: flag,
      quick: flag,
      help: flag,
      ...startOnlyOption,
    },
  })
  const only = values.only.flatMap((names) => names.split(',')).map((name) => name.trim())
  for (const name of only) {
    if (!known.includes(name)) throw new Error(`Unknown bench '${name}'. Available benches: ${known.join(', ')}`)
  }
  const { 'start-only': startOnly, against, ...others } = values
  if (against?.trim() === '') throw new Error('--against needs a commit, such as HEAD~1.')
  return { ...others, only, against, startOnly }
}
