import { expect, test } from 'vitest'
import { chooseProcesses, connectionsFor, fitToConnections } from './choose-processes.ts'

const start = { api: true, worker: true }
const production = { production: true, apiProcesses: undefined, workerProcesses: undefined }
const development = { ...production, production: false }

test.for([
  { cores: 3, api: 2 },
  { cores: 4, api: 3 },
  { cores: 64, api: 63 },
])('In production with $cores cores, $api processes serve the API and one runs the worker', ({ cores, api }) => {
  expect(chooseProcesses({ ...production, cores }, start)).toEqual({
    plan: { api, worker: 1 },
    automatic: true,
    processes: `${api} for the API and 1 for the worker`,
    why: `the machine has ${cores} cores: one API process for each but one`,
  })
})

test.for([
  { cores: 1, why: 'the machine has 1 core: too few for several processes' },
  { cores: 2, why: 'the machine has 2 cores: too few for several processes' },
])('In production one process serves both parts on a machine with few cores: $cores', ({ cores, why }) => {
  const processes = '1 for the API and the worker'
  expect(chooseProcesses({ ...production, cores }, start)).toEqual({ automatic: true, processes, why })
})

test('Outside production nothing is chosen, whatever the number of cores', () => {
  for (const cores of [1, 2, 4, 64]) expect(chooseProcesses({ ...development, cores }, start)).toBeUndefined()
})

test.for([
  { production: true, cores: 2 },
  { production: true, cores: 8 },
  { production: false, cores: 8 },
])('API_PROCESSES decides when it is set: $cores cores, production $production', (of) => {
  for (const [apiProcesses, processes] of [
    [1, '1 for the API and 1 for the worker'],
    [5, '5 for the API and 1 for the worker'],
  ] as const) {
    expect(chooseProcesses({ ...of, apiProcesses, workerProcesses: undefined }, start)).toEqual({
      plan: { api: apiProcesses, worker: 1 },
      automatic: false,
      processes,
      why: 'API_PROCESSES is set',
    })
  }
})

test('WORKER_PROCESSES decides about the worker; the API has the default of the environment', () => {
  const of = { apiProcesses: undefined, workerProcesses: 2, cores: 8 }
  expect(chooseProcesses({ ...of, production: false }, start)).toEqual({
    plan: { api: 1, worker: 2 },
    automatic: false,
    processes: '1 for the API and 2 for the worker',
    why: 'WORKER_PROCESSES is set',
  })
  expect(chooseProcesses({ ...of, production: true }, start)).toEqual({
    plan: { api: 7, worker: 2 },
    automatic: true,
    processes: '7 for the API and 2 for the worker',
    why: 'WORKER_PROCESSES is set, and the machine has 8 cores: one API process for each but one',
  })
  expect(chooseProcesses({ ...of, production: true, cores: 1 }, start)).toMatchObject({
    plan: { api: 1, worker: 2 },
    why: 'WORKER_PROCESSES is set',
  })
  expect(chooseProcesses({ ...of, production: true, apiProcesses: 3 }, start)).toMatchObject({
    plan: { api: 3, worker: 2 },
    automatic: false,
    why: 'API_PROCESSES and WORKER_PROCESSES are set',
  })
})

test('A part that is started alone has as many processes as its variable says, in production too', () => {
  const of = { ...production, cores: 8 }
  const [api, worker] = [
    { api: true, worker: false },
    { api: false, worker: true },
  ]
  expect(chooseProcesses(of, api)).toBeUndefined()
  expect(chooseProcesses(of, worker)).toBeUndefined()
  expect(chooseProcesses({ ...of, workerProcesses: 2 }, api)).toBeUndefined()
  expect(chooseProcesses({ ...of, apiProcesses: 2 }, api)).toEqual({
    plan: { api: 2, worker: 0 },
    automatic: false,
    processes: '2 for the API',
    why: 'API_PROCESSES is set',
  })
  expect(chooseProcesses({ ...of, workerProcesses: 2 }, worker)).toEqual({
    plan: { api: 0, worker: 2 },
    automatic: false,
    processes: '2 for the worker',
    why: 'WORKER_PROCESSES is set',
  })
})

test('An automatic number of API processes is reduced to what the connections of the database allow, at least one', () => {
  const [plan, poolSize] = [{ api: 15, worker: 1 }, 10]
  expect(connectionsFor(plan, poolSize)).toBe(265)
  expect(fitToConnections(plan, 1_000, poolSize)).toEqual(plan)
  expect(fitToConnections(plan, 265, poolSize)).toEqual(plan)
  expect(fitToConnections(plan, 264, poolSize)).toEqual({ api: 14, worker: 1 })
  expect(fitToConnections(plan, 97, poolSize)).toEqual({ api: 3, worker: 1 })
  expect(fitToConnections(plan, 20, poolSize)).toEqual({ api: 1, worker: 1 })
})
