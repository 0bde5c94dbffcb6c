/** The program of the thread that verifies SAML responses, one after the other. */
import { parentPort } from 'node:worker_threads'
import { ResponseFault } from './response-structure.ts'
import type { ResponseToVerify, ThreadMessage } from './response-verifier.ts'
import { verifyResponse } from './verify-response.ts'

const send = (message: ThreadMessage): void => parentPort?.postMessage(message)

parentPort?.on('message', ({ samlResponse, certificates, expected }: ResponseToVerify) => {
  verifyResponse(samlResponse, certificates, expected).then(
    (person) => send({ person }),
    // The message of any other error can quote the document.
    (error: unknown) => send({ refused: error instanceof ResponseFault ? error.message : 'unreadable' }),
  )
})
send('ready')
