// Loaded into the measured service with --import. Profiles its main thread when the measuring process asks for it.
import { Session } from 'node:inspector/promises'

const session = new Session()
session.connect()

const heapSampling = {
  samplingInterval: 32_768,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
}

const actions = {
  startCpu: async () => {
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: 200 })
    await session.post('Profiler.start')
  },
  stopCpu: async () => (await session.post('Profiler.stop')).profile,
  startHeap: () => session.post('HeapProfiler.startSampling', heapSampling),
  stopHeap: async () => (await session.post('HeapProfiler.stopSampling')).profile,
  cpuMs: async () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  },
}

process.on('message', async (message) => {
  const action = actions[message?.costs]
  if (action) process.send?.({ costs: message.costs, result: await action() })
})
