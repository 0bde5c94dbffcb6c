import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/setup/sequencer.ts'

export default defineConfig({
  test: {
    include: ['{src,test,bench}/**/*.test.ts'],
    globalSetup: ['test/setup/global-setup.ts'],
    // The first is the last to finish, so it measures the others too.
    setupFiles: ['measure-file', 'network-guard', 'loopback-guard', 'clock-guard'].map(
      (name) => `test/setup/${name}.ts`,
    ),
    sequence: { sequencer: LongestFirst },
    pool: 'forks',
    // The files of a worker share its modules: loading them again for each file took a quarter of the time.
    isolate: false,
    // One more than there are cores: many tests wait for processes, sockets and deadlines.
    maxWorkers: availableParallelism() + 1,
    // A test that hangs still ends. It is no measure of speed: the machine may be busy with other work.
    testTimeout: 120_000,
    // Polls end as soon as they succeed. The default of one second is too short on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    hookTimeout: 120_000,
  },
})
