import { serviceFlags } from '../../bin/flags.js'
import type { Bench, Contender } from '../harness.ts'
import { workContender } from '../work.ts'

const program = (file: string) => new URL(`../servers/${file}`, import.meta.url)

const few = 10_000
const many = 1_000_000
/** A short run only checks that everything works. */
const manyWhenQuick = 20_000

const perClaim = 200

const scheduling = (name: string, by: 'scheduler' | 'plain', waiting: number): Contender =>
  workContender({
    name,
    program: program('scheduler.ts'),
    flags: serviceFlags,
    weight: perClaim,
    params: async (resources) => ({
      databaseUrl: (await resources.database(name)).url,
      by,
      perClaim,
      waiting: resources.quick ? Math.min(waiting, manyWhenQuick) : waiting,
      due: resources.quick ? 60_000 : 150_000,
    }),
  })

/** The backlog of an org must not slow down claiming or sending its due messages. */
export const scheduler: Bench = {
  name: 'scheduler',
  about:
    'Claim 200 due emails and send them with the local provider while many more are scheduled; the plain loop only claims and marks the same rows. Counted in emails.',
  clients: [1],
  baseline: 'plain-10k',
  contenders: [
    scheduling('plain-10k', 'plain', few),
    scheduling('ours-10k', 'scheduler', few),
    scheduling('ours-1m', 'scheduler', many),
  ],
  targets: [
    { kind: 'ratio', figure: 'perSecond', clients: 1, of: 'ours-10k', to: 'plain-10k', atLeast: 0.4 },
    { kind: 'ratio', figure: 'perSecond', clients: 1, of: 'ours-1m', to: 'ours-10k', atLeast: 0.8 },
  ],
}

const reading = (name: string, read: 'list' | 'get', rows: number): Contender =>
  workContender({
    name,
    program: program('reads.ts'),
    flags: serviceFlags,
    params: async (resources) => ({
      databaseUrl: (await resources.database(name)).url,
      read,
      rows: resources.quick ? Math.min(rows, manyWhenQuick) : rows,
    }),
  })

export const reads: Bench = {
  name: 'reads',
  about: 'Read an email by its id, and a page of twenty at a random position of the list, with few rows and with many.',
  clients: [10],
  baseline: 'get-10k',
  contenders: [
    reading('get-10k', 'get', few),
    reading('get-1m', 'get', many),
    reading('list-10k', 'list', few),
    reading('list-1m', 'list', many),
  ],
  targets: [
    { kind: 'ratio', figure: 'p50Ms', clients: 10, of: 'get-1m', to: 'get-10k', atMost: 1.5 },
    { kind: 'ratio', figure: 'p50Ms', clients: 10, of: 'list-1m', to: 'list-10k', atMost: 1.5 },
  ],
}
