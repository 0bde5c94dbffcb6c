import type { Log } from '../../platform/ground/log.ts'

export const makeBackground = ({ log }: { log: Log }) => {
  const running = new Set<Promise<void>>()
  return {
    /** Runs work after the response, so that its time says nothing about an account. Errors are logged under `name`. */
    run: (name: string, work: () => Promise<unknown>) => {
      const done: Promise<void> = new Promise<void>((resolve) => setImmediate(resolve))
        .then(work)
        .then(
          () => undefined,
          (err) => log.warn({ err }, `${name} failed`),
        )
        .finally(() => running.delete(done))
      running.add(done)
    },
    drained: async () => {
      while (running.size > 0) await Promise.all(running)
    },
  }
}

export type Background = ReturnType<typeof makeBackground>
