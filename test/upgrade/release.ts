/** Runs processes of one release: its API, its worker and its commands. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Run, run, until } from '../start/launched.ts'

export type Release = {
  /** Resolves with the URL of the API. */
  startApi(): Promise<string>
  startWorker(): Promise<void>
  /** Runs a command to its end and returns its output. Rejects if it fails. */
  command(...args: string[]): Promise<string>
  /** Stops the processes, and returns a line for each that did not exit cleanly. */
  stop(): Promise<string[]>
  /** What its processes logged. */
  logged(): string[]
}

type Needs = { name: string; folder: string; env: NodeJS.ProcessEnv }

export const makeRelease = ({ name, folder, env }: Needs): Release => {
  const all: Run[] = []
  let running: Run[] = []
  const launch = (args: string[]): Run =>
    run(process.execPath, [join(folder, 'bin', 'tidings.js'), ...args], { env, cwd: tmpdir() })

  const start = async (part: string, isReady: (started: Run) => boolean): Promise<Run> => {
    const started = launch([part])
    all.push(started)
    running.push(started)
    let ended = false
    void started.ended().then(() => {
      ended = true
    })
    await until(
      `the ${part} of the ${name} release is ready`,
      () => {
        if (ended) throw new Error(`the ${part} of the ${name} release exited: ${started.errors()}`)
        return isReady(started)
      },
      120_000,
    )
    return started
  }

  const urlIn = (started: Run): string | undefined => /ready at (http:\/\/127\.0\.0\.1:\d+)/.exec(started.output())?.[1]

  return {
    startApi: async () => urlIn(await start('api', (started) => urlIn(started) !== undefined)) as string,
    // A worker prints nothing when it runs. Its effects show that it does.
    startWorker: async () => {
      await start('worker', () => true)
    },
    command: async (...args) => {
      const ran = launch(args)
      const code = await ran.ended()
      if (code !== 0) throw new Error(`${args.join(' ')} exited with ${code}: ${ran.errors()}${ran.output()}`)
      return ran.output()
    },
    stop: async () => {
      const stopping = running
      running = []
      for (const one of stopping) one.signal('SIGTERM')
      const codes = await Promise.all(stopping.map((one) => one.ended()))
      return codes.flatMap((code) => (code === 0 ? [] : [`a process of the ${name} release exited with ${code}`]))
    },
    logged: () =>
      all.flatMap((one) =>
        one
          .errors()
          .split('\n')
          .filter((line) => line.startsWith('{')),
      ),
  }
}
