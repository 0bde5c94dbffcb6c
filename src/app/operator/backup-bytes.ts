/** Reads a stream in pieces of a requested length, with at most one chunk of the stream more than that in memory. */
export type ByteReader = {
  /** The next bytes, fewer at the end of the stream. They are read again. */
  peek(length: number): Promise<Buffer>
  /** The next bytes, fewer at the end of the stream. */
  take(length: number): Promise<Buffer>
  /** Everything that was not taken. */
  rest(): AsyncGenerator<Buffer>
}

export const readBytes = (stream: AsyncIterable<Uint8Array>): ByteReader => {
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

  const peek = async (wanted: number): Promise<Buffer> => {
    await fill(wanted)
    return joined().subarray(0, wanted)
  }

  return {
    peek,
    take: async (wanted) => {
      const taken = await peek(wanted)
      held = [joined().subarray(taken.length)]
      length -= taken.length
      return taken
    },
    async *rest() {
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
