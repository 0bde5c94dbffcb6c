/** Splits a message into small chunks, so that the bytes a stream has read are about the bytes it has sent. */
export function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 16_384) yield bytes.subarray(at, at + 16_384)
}
