import { expect, test } from 'vitest'
import {
  benchSection,
  checkTarget,
  keepComparisons,
  type Outcome,
  type Row,
  replaceSections,
  resultsFile,
  resultsOf,
  type Target,
} from './results.ts'

const row = (contender: string, clients: number, perSecond: number[], more: Partial<Row> = {}): Row => ({
  contender,
  clients,
  samples: perSecond.map((each, round) => ({
    perSecond: each,
    p50Ms: 1000 / each,
    p99Ms: 3000 / each,
    rssMb: 80 + round,
    loadCpuShare: each / 10_000,
  })),
  ...more,
})

const outcome = (rows: Row[], targets: Target[] = []): Outcome => ({
  bench: 'record',
  about: 'Records a row.',
  baseline: 'plain',
  targets,
  rows,
  notes: ['PostgreSQL 18.4'],
})

const sampleOf = (rssMb: number) => ({ perSecond: 1, p50Ms: 1, p99Ms: 2, rssMb })

test('A result has medians, peak memory and the ratio to the baseline with the same number of clients', () => {
  const results = resultsOf(outcome([row('plain', 10, [100, 50, 110]), row('service', 10, [310, 150, 320])]))
  expect(results).toEqual([
    {
      bench: 'record',
      contender: 'plain@10',
      per_second: 100,
      p50_ms: 10,
      p99_ms: 30,
      rss_mb: 82,
      ratio_to: 'plain@10',
      ratio: 1,
    },
    {
      bench: 'record',
      contender: 'service@10',
      per_second: 310,
      p50_ms: 3.226,
      p99_ms: 9.677,
      rss_mb: 82,
      ratio_to: 'plain@10',
      ratio: 3,
    },
  ])
})

test('A contender that is not a process of ours has no memory figure', () => {
  const bare = { contender: 'pgbench', clients: 1, samples: [{ perSecond: 1, p50Ms: 1, p99Ms: 1 }] }
  expect(resultsOf(outcome([bare]))[0]).toMatchObject({ rss_mb: null, ratio_to: null, ratio: null })
})

test('A skipped contender has no result and is listed with its reason', () => {
  const rows = [row('plain', 1, [100]), row('pgbench', 1, [], { skipped: 'not installed' })]
  expect(resultsOf(outcome(rows)).map(({ contender }) => contender)).toEqual(['plain@1'])
  expect(benchSection(outcome(rows))).toContain('- pgbench skipped: not installed (clients: 1)')
})

test('Without a baseline the other contenders have no ratio', () => {
  const rows = [row('plain', 1, [], { skipped: 'broken' }), row('service', 1, [100])]
  expect(resultsOf(outcome(rows))).toMatchObject([{ contender: 'service@1', ratio_to: null, ratio: null }])
})

test('A target is met, missed or not measured', () => {
  const rows = [row('plain', 100, [100, 100]), row('service', 100, [299, 301])]
  const atLeast = (bound: number): Target => ({
    kind: 'ratio',
    figure: 'perSecond',
    clients: 100,
    of: 'service',
    to: 'plain',
    atLeast: bound,
  })
  expect(checkTarget(atLeast(3), rows)).toEqual({
    target: 'per second at 100 clients: service at least 3 × plain',
    measured: 3,
    verdict: 'met',
  })
  expect(checkTarget(atLeast(3.001), rows).verdict).toBe('missed')
  expect(checkTarget(atLeast(3), rows.slice(0, 1))).toMatchObject({ verdict: 'not measured' })
  expect(checkTarget({ kind: 'rss', clients: 100, of: 'service', atMost: 80.5 }, rows)).toMatchObject({
    measured: 81,
    verdict: 'missed',
  })
  expect(checkTarget({ kind: 'rss', clients: 100, of: 'service', atMost: 81 }, rows).verdict).toBe('met')
  const above: Target = { kind: 'rss', clients: 100, of: 'service', above: 'plain', atMost: 0 }
  expect(checkTarget(above, rows)).toEqual({
    target: 'resident memory of service above plain at 100 clients: at most 0 MB',
    measured: 0,
    verdict: 'met',
  })
  expect(checkTarget(above, rows.slice(1)).verdict).toBe('not measured')
  expect(checkTarget({ kind: 'rate', clients: 100, of: 'service', atLeast: 1e9 }, rows)).toEqual({
    target: 'service at 100 clients: at least 1000000000 per second',
    measured: expect.any(Number),
    verdict: 'missed',
  })
  const grown = [{ contender: 'service', clients: 100, samples: [100, 90, 125].map((rssMb) => sampleOf(rssMb)) }]
  expect(checkTarget({ kind: 'growth', clients: 100, of: 'service', atMost: 1.2 }, grown)).toEqual({
    target: 'resident memory of service at 100 clients: at most 1.2 × its first round',
    measured: 1.25,
    verdict: 'missed',
  })
  expect(checkTarget({ kind: 'spread', clients: 100, of: 'service', atMost: 2 }, grown)).toMatchObject({
    target: 'p99 of service at 100 clients: at most 2 × its p50',
    measured: 2,
    verdict: 'met',
  })
  const middle: Target = { kind: 'p50', clients: 100, of: 'service', atMost: 0.1 }
  expect(checkTarget(middle, rows)).toMatchObject({ target: 'p50 of service at 100 clients: at most 0.1 ms' })
  const latency: Target = {
    kind: 'ratio',
    figure: 'p50Ms',
    clients: 100,
    of: 'service',
    to: 'plain',
    atMost: 0.5,
  }
  expect(checkTarget(latency, rows)).toMatchObject({
    target: 'p50 at 100 clients: service at most 0.5 × plain',
    verdict: 'met',
  })
})

test('The results file shows the conditions, then a table and the targets of each bench', () => {
  const targets: Target[] = [
    { kind: 'ratio', figure: 'p50Ms', clients: 1, of: 'service', to: 'plain', atMost: 1.3 },
    { kind: 'rss', clients: 100, of: 'nobody', atMost: 250 },
  ]
  const text = resultsFile(
    {
      date: new Date('2026-02-03T04:05:06Z'),
      nodeVersion: 'v24.1.0',
      cores: 2,
      command: 'npm run bench',
      rounds: 3,
      measureMs: 3000,
    },
    [outcome([row('plain', 1, [1000, 2000, 3000]), row('service', 1, [4000, 2000, 6000])], targets)],
  )
  expect(text).toContain('| 2026-02-03 | v24.1.0 | 2 | `npm run bench` |')
  expect(text).toContain('3 rounds of 3.0 s each')
  expect(text.slice(text.indexOf('## record'))).toBe(`## record

Records a row.

| contender | clients | per second | p50 ms | p99 ms | RSS MB | ratio to plain | lowest to highest |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| plain | 1 | 2,000 | 0.500 | 1.50 | 82 | 1.00 |  |
| service | 1 | 4,000 | 0.250 | 0.750 | 82 | 2.00 | 1.00 to 4.00 |

- PostgreSQL 18.4
- the load generator used at most 40 % of one core (service@1)

Targets:

- p50 at 1 client: service at most 1.3 × plain: met (0.50)
- resident memory of nobody at 100 clients: at most 250 MB: not measured
`)
})

const facts = {
  date: new Date('2026-02-03T04:05:06Z'),
  nodeVersion: 'v24.1.0',
  cores: 2,
  command: 'npm run bench',
  rounds: 3,
  measureMs: 2000,
}

test('Some results can be replaced, and say when and how they were measured', () => {
  const named = (bench: string, perSecond: number) => ({ ...outcome([row('plain', 1, [perSecond])]), bench })
  const before = resultsFile(facts, [named('record', 100), named('render', 200)])
  const command = 'npm run bench -- --only record --save'
  const later = { ...facts, date: new Date('2026-03-04T00:00:00Z'), command }
  const after = replaceSections(before, [named('record', 300), named('reads', 400)], later)
  const noted = (bench: string, perSecond: number) =>
    benchSection({
      ...named(bench, perSecond),
      notes: ['PostgreSQL 18.4', `measured on 2026-03-04 with \`${command}\``],
    })
  const head = before.slice(0, before.indexOf('## record'))
  const sections = [noted('record', 300), benchSection(named('render', 200)), noted('reads', 400)]
  expect(after).toBe(`${head}${sections.join('\n\n')}\n`)
})

const compared = (bench: string, perSecond: number): Outcome => ({
  ...outcome([
    row('plain', 1, [100, 100]),
    row('plain (c9fd9ab)', 1, [200, 200]),
    row('service', 1, [perSecond, perSecond * 2]),
    row('service (c9fd9ab)', 1, [100, 100]),
    row('pgbench', 1, [50, 50]),
  ]),
  bench,
  against: 'c9fd9ab',
})

test('A comparison with a commit shows the contenders of both and their ratio', () => {
  const section = benchSection(compared('record', 150))
  expect(section).toBe(`## record compared with c9fd9ab

Records a row.

| contender | clients | per second | p50 ms | p99 ms | RSS MB | ratio to plain | lowest to highest |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| plain | 1 | 100 | 10.00 | 30.00 | 81 | 1.00 |  |
| plain (c9fd9ab) | 1 | 200 | 5.00 | 15.00 | 81 | 1.00 |  |
| service | 1 | 225 | 5.00 | 15.00 | 81 | 2.25 | 1.50 to 3.00 |
| service (c9fd9ab) | 1 | 100 | 10.00 | 30.00 | 81 | 0.50 | 0.50 to 0.50 |
| pgbench | 1 | 50 | 20.00 | 60.00 | 81 | 0.50 | 0.50 to 0.50 |

The present tree in relation to c9fd9ab:

| contender | clients | per second | lowest to highest | p50 | p99 | RSS |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| plain | 1 | 0.50 | 0.50 to 0.50 | 2.00 | 2.00 | 1.00 |
| service | 1 | 2.25 | 1.50 to 3.00 | 0.50 | 0.50 | 1.00 |

- PostgreSQL 18.4
- the load generator used at most 2 % of one core (service@1)`)
})

test('A result of a comparison has the ratio to the baseline of its own tree and to the other tree', () => {
  expect(resultsOf(compared('record', 150))).toMatchObject([
    { contender: 'plain@1', ratio_to: 'plain@1', against: 'plain (c9fd9ab)@1', against_ratio: 0.5 },
    { contender: 'plain (c9fd9ab)@1', ratio_to: 'plain (c9fd9ab)@1', against: null, against_ratio: null },
    { contender: 'service@1', ratio_to: 'plain@1', against: 'service (c9fd9ab)@1', against_ratio: 2.25 },
    { contender: 'service (c9fd9ab)@1', ratio_to: 'plain (c9fd9ab)@1', ratio: 0.5, against: null },
    { contender: 'pgbench@1', ratio_to: 'plain@1', against: null },
  ])
})

test('A contender that the other commit does not have is listed as skipped, without a ratio to it', () => {
  const rows = [row('service', 1, [100]), row('service (c9fd9ab)', 1, [], { skipped: 'c9fd9ab has no service.ts' })]
  const section = benchSection({ ...outcome(rows), against: 'c9fd9ab' })
  expect(section).not.toContain('The present tree in relation to c9fd9ab')
  expect(section).toContain('- service (c9fd9ab) skipped: c9fd9ab has no service.ts (clients: 1)')
})

test('A saved comparison replaces the last one of its bench with that commit, and a full run keeps it', () => {
  const full = resultsFile(facts, [outcome([row('plain', 1, [100])])])
  const once = replaceSections(full, [compared('record', 150)], facts)
  const twice = replaceSections(once, [compared('record', 300)], facts)
  const note = 'measured on 2026-02-03 with `npm run bench`'
  const section = benchSection({ ...compared('record', 300), notes: ['PostgreSQL 18.4', note] })
  expect(twice).toBe(`${full}\n${section}\n`)

  const next = resultsFile(facts, [outcome([row('plain', 1, [400])])])
  expect(keepComparisons(twice, next)).toBe(`${next}\n${section}\n`)
  expect(keepComparisons(full, next)).toBe(next)
})
