/** Reads a stream in pieces of a requested length, with at most one chunk of the stream more than that in memory. */
export const readBytes = (stream: AsyncIterable<Uint8Array>) => {
  const chunks = stream[Symbol.asyncIterator]()
  let held: Buffer[] = []
  let length = 0

  const fill = async (wanted: number): Promise<void> => {
    while (length < wanted) {
      const { done, value } = await chunks.next()
      if (done) return
      held.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
      length += value.byteLength
    }
  }

  const joined = (): Buffer => {
    if (held.length !== 1) held = [Buffer.concat(held)]
    return held[0]!
  }

  /** The next bytes, fewer at the end of the stream. They are read again. */
  const peek = async (wanted: number): Promise<Buffer> => {
    await fill(wanted)
    return joined().subarray(0, wanted)
  }

  return {
    peek,
    /** The next bytes, fewer at the end of the stream. */
    take: async (wanted: number): Promise<Buffer> => {
      const taken = await peek(wanted)
      held = [joined().subarray(taken.length)]
      length -= taken.length
      return taken
    },
    /** Everything that was not taken. */
    async *rest(): AsyncGenerator<Buffer> {
      try {
        if (length > 0) yield joined()
        for (;;) {
          const { done, value } = await chunks.next()
          if (done) return
          yield Buffer.from(value.buffer, value.byteOffset, value.byteLength)
        }
      } finally {
        await chunks.return?.()
      }
    },
  }
}

export type ByteReader = ReturnType<typeof readBytes>
