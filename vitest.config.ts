import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{src,test,bench}/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    setupFiles: ['test/network-guard.ts'],
    pool: 'forks',
    // Vitest would leave one core to itself, which mostly waits.
    maxWorkers: '100%',
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
