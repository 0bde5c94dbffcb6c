import { serviceFlags } from '../../bin/flags.js'
import type { Bench, Contender } from '../harness.ts'
import { workContender } from '../work.ts'

const many = 1_000_000
const manyWhenQuick = 20_000

const contender = (name: string): Contender =>
  workContender({
    name,
    program: new URL('../servers/exports.ts', import.meta.url),
    flags: serviceFlags,
    params: async (resources) => ({
      databaseUrl: (await resources.database()).url,
      messages: resources.quick ? manyWhenQuick : many,
      read: name,
    }),
  })

export const exports: Bench = {
  name: 'exports',
  about:
    'Export an org with a million messages, counted in whole exports; `copy` reads the same rows with a plain `COPY TO`, and `idle` does nothing, so that its memory can be subtracted.',
  clients: [1],
  baseline: 'copy',
  contenders: [contender('copy'), contender('export'), contender('idle')],
  targets: [
    { kind: 'ratio', figure: 'perSecond', clients: 1, of: 'export', to: 'copy', atLeast: 0.5 },
    { kind: 'rss', clients: 1, of: 'export', above: 'idle', atMost: 100 },
  ],
}
