/** The child process of a contender: reads parameters, reports that it is ready, and exits cleanly. */

/** For a server, `ready` contains the port and other data for the contender's request, such as a key. */
export type FromServer<Ready> = { ready: Ready } | { failed: string }

export type Served<Ready> = { ready: Ready; close(): Promise<void> }

/** Runs until the harness closes the IPC channel or dies. A server listens on port 0 of 127.0.0.1. */
export const serveBench = <Params, Ready>(start: (params: Params) => Promise<Served<Ready>>): void => {
  const send = (message: FromServer<Ready>) => process.send?.(message)
  // Ctrl-C reaches the whole process group. The harness stops this process itself.
  process.on('SIGINT', () => {})
  const served = start(JSON.parse(process.env.BENCH_PARAMS ?? '{}') as Params)
  served.then(
    ({ ready }) => send({ ready }),
    (error: unknown) => {
      send({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
      process.exitCode = 1
      process.disconnect()
    },
  )
  process.on('disconnect', async () => {
    // A leaked pool or timer must not keep the process running, but must not count as a clean exit either.
    setTimeout(() => process.exit(3), 8000).unref()
    await served.then(({ close }) => close()).catch(() => process.exit(1))
  })
}
