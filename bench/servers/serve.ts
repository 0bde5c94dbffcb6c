/** The child's side of a contender: parameters in, word that it is ready out, a clean end. */

/** Of a server `ready` carries the port and whatever else the contender's request is made from, such as a key. */
export type FromServer<Ready> = { ready: Ready } | { failed: string }

export type Served<Ready> = { ready: Ready; close(): Promise<void> }

/** Runs, a server on port 0 of 127.0.0.1, until the harness lets go of the channel, which it also does by dying. */
export const serveBench = <Params, Ready>(start: (params: Params) => Promise<Served<Ready>>): void => {
  const say = (message: FromServer<Ready>) => process.send?.(message)
  // Ctrl-C reaches the whole group; the harness ends this process in its own order.
  process.on('SIGINT', () => {})
  const served = start(JSON.parse(process.env.BENCH_PARAMS ?? '{}') as Params)
  served.then(
    ({ ready }) => say({ ready }),
    (error: unknown) => {
      say({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
      process.exitCode = 1
      process.disconnect()
    },
  )
  process.on('disconnect', async () => {
    // A pool or a timer someone forgot must not keep the process, but must not pass for a clean end either.
    setTimeout(() => process.exit(3), 8000).unref()
    await served.then(({ close }) => close()).catch(() => process.exit(1))
  })
}
