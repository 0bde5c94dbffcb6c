/** A message centre in a separate thread, so that its work does not count as the sender's. It accepts everything. */
import { type AddressInfo, createServer } from 'node:net'
import { parentPort } from 'node:worker_threads'

const headerBytes = 16
const response = 0x80000000
const submitSm = 4

let ids = 0

/** The answer to a request: its header as a response, and a body for those that have one. */
const answerTo = (request: Buffer): Buffer => {
  const command = request.readUInt32BE(4)
  // Submits get an id, binds a name. Other answers have no body.
  const body = command === submitSm ? `${++ids}\0` : command === 9 ? 'smsc\0' : ''
  const answer = Buffer.alloc(headerBytes + body.length)
  answer.writeUInt32BE(answer.length, 0)
  answer.writeUInt32BE((command | response) >>> 0, 4)
  answer.writeUInt32BE(request.readUInt32BE(12), 12)
  answer.write(body, headerBytes, 'latin1')
  return answer
}

const server = createServer((socket) => {
  let read: Buffer = Buffer.alloc(0)
  socket.setNoDelay(true)
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => {
    read = read.length === 0 ? chunk : Buffer.concat([read, chunk])
    const answers: Buffer[] = []
    let at = 0
    while (read.length - at >= headerBytes && read.length - at >= read.readUInt32BE(at)) {
      const end = at + read.readUInt32BE(at)
      answers.push(answerTo(read.subarray(at, end)))
      at = end
    }
    read = read.subarray(at)
    if (answers.length > 0) socket.write(Buffer.concat(answers))
  })
})
server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port))
