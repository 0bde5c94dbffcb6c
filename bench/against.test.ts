import { expect, test } from 'vitest'
import { chooseBenches, comparedWith } from './against.ts'
import type { Bench, Contender, Resources } from './harness.ts'
import type { Tree } from './tree.ts'

const contender = (name: string, ofTree: boolean): Contender => ({
  name,
  ofTree,
  // The reason shows which tree and databases it was started with.
  start: async ({ tree, database }) => ({
    skipped: [tree.name, (await database()).url, (await database('two')).url].join(' '),
  }),
})

const bench = (name: string, contenders: Contender[]): Bench => ({
  name,
  about: 'Sends.',
  clients: [1],
  baseline: 'send',
  contenders,
  targets: [],
})

const email = bench('email', [contender('send', true), contender('pgbench', false)])
const template = bench('template', [contender('render', false)])

const treeOf = (name: string): Tree => ({ folder: '/tmp', name, serviceFlags: [] })

const resources = {
  tree: treeOf('the present tree'),
  database: async (name = '') => ({ url: `db${name}`, drop: async () => {} }),
} as Resources

test('Contenders of the service run from both trees, each on databases of its own, and others run once', async () => {
  const compared = comparedWith(email, treeOf('c9fd9ab'))
  expect(compared.against).toBe('c9fd9ab')
  expect(compared.contenders.map(({ name }) => name)).toEqual(['send', 'send (c9fd9ab)', 'pgbench'])
  const started = await Promise.all(compared.contenders.map(({ start }) => start(resources)))
  expect(started).toEqual([
    { skipped: 'the present tree db dbtwo' },
    { skipped: 'c9fd9ab db-against dbtwo-against' },
    { skipped: 'the present tree db dbtwo' },
  ])
})

test('A comparison refuses a chosen bench without a server of the service', () => {
  const benches = [email, template]
  expect(() => chooseBenches(benches, { only: ['email', 'template'], against: 'HEAD' })).toThrow(
    '--against compares HTTP servers of the service, and these benches have none: template. ' +
      'Benches that can be compared: email',
  )
})

test('A comparison of all benches leaves out those without a server of the service', () => {
  const benches = [email, template]
  expect(chooseBenches(benches, { only: [], against: 'HEAD' })).toEqual([email])
  expect(chooseBenches(benches, { only: [], against: undefined })).toEqual(benches)
  expect(chooseBenches(benches, { only: ['template'], against: undefined })).toEqual([template])
})
