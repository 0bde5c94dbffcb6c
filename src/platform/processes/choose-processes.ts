/** Decides how many processes the service runs as. */
import type { ProcessPlan } from './supervise.ts'

type ProcessSettings = {
  production: boolean
  /** Undefined: not set. */
  apiProcesses: number | undefined
  workerProcesses: number | undefined
  cores: number
}

type ProcessChoice = {
  /** Undefined: one process serves all parts. */
  plan?: ProcessPlan
  /** The number of API processes follows from the machine, not from a setting. */
  automatic: boolean
  /** For the operator: what was chosen, and why. */
  processes: string
  why: string
}

type Parts = { api: boolean; worker: boolean }

const described = ({ api, worker }: ProcessPlan): string =>
  [api > 0 && `${api} for the API`, worker > 0 && `${worker} for the worker`].filter(Boolean).join(' and ')

const whySet = (names: string[]): string => `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} set`

/** Undefined: there is nothing to choose, and one process serves all parts. */
export const chooseProcesses = (settings: ProcessSettings, parts: Parts): ProcessChoice | undefined => {
  const { production, cores } = settings
  const api = parts.api ? settings.apiProcesses : undefined
  const worker = parts.worker ? settings.workerProcesses : undefined
  const automatic = production && parts.api && parts.worker && api === undefined
  const names = [...(api === undefined ? [] : ['API_PROCESSES']), ...(worker === undefined ? [] : ['WORKER_PROCESSES'])]
  if (names.length === 0 && !automatic) return undefined

  const machine = `the machine has ${cores} ${cores === 1 ? 'core' : 'cores'}`
  if (names.length === 0 && cores <= 2) {
    return { automatic, processes: '1 for the API and the worker', why: `${machine}: too few for several processes` }
  }
  const automaticApi = automatic ? Math.max(1, cores - 1) : 1
  const plan = { api: parts.api ? (api ?? automaticApi) : 0, worker: parts.worker ? (worker ?? 1) : 0 }
  const whyMachine = `${machine}: one API process for each but one`
  const reasons = [...(names.length > 0 ? [whySet(names)] : []), ...(automatic && cores > 2 ? [whyMachine] : [])]
  return { plan, automatic, processes: described(plan), why: reasons.join(', and ') }
}

/** One more process runs during a restart. Of the others, a worker with its listeners and jobs needs the most. */
export const connectionsFor = (plan: ProcessPlan, poolSize: number): number =>
  (plan.api + plan.worker + 1) * (poolSize + 5) + 10

/** The plan with as many of its API processes as the connections of the database allow, and at least one. */
export const fitToConnections = (plan: ProcessPlan, allowed: number, poolSize: number): ProcessPlan => {
  let { api } = plan
  while (api > 1 && connectionsFor({ ...plan, api }, poolSize) > allowed) api--
  return { ...plan, api }
}
