import { parentPort } from 'node:worker_threads'
import type { Reader } from './reader.ts'

/** In a thread: parses the messages that it is sent, one after the other. Undefined stands for one that cannot be parsed. */
export const readMessages = (read: Reader): void => {
  let last = Promise.resolve()
  parentPort?.on('message', (bytes: Uint8Array) => {
    last = last
      .then(() => read(bytes))
      .then(
        (mail) =>
          parentPort?.postMessage(
            mail,
            mail.attachments.map(({ content }) => content.buffer),
          ),
        () => parentPort?.postMessage(undefined),
      )
  })
  parentPort?.postMessage('ready')
}
