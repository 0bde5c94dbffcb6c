/**
 * Takes a message apart in a thread of its own: ten hostile megabytes keep a parser busy for seconds, during which
 * nothing else here would be answered. One message at a time; whoever takes too long is ended with the thread.
 */
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { type Failure, malformed } from '../ground/errors.ts'

export type Mailbox = { name: string; address: string }

export type ParsedMail = {
  /** In the order they stand, repeated ones too, with their encoded words decoded. */
  headers: { name: string; value: string }[]
  from: Mailbox | undefined
  to: Mailbox[]
  cc: Mailbox[]
  replyTo: Mailbox[]
  subject: string | undefined
  text: string | undefined
  html: string | undefined
  attachments: { filename: string | null; mimeType: string; method?: string; content: Uint8Array }[]
}

/** More than ten megabytes of any honest encoding; the parser's work grows with lines more than with bytes. */
const maxLines = 200_000
const defaultDeadlineMs = 30_000

const limits = { forceRfc822Attachments: true, maxNestingDepth: 32, maxHeadersSize: 262_144 }

/** Handed over as text, since a bundle has no second file to start a thread from. */
const program = `
const { parentPort, workerData } = require('node:worker_threads')
const { default: PostalMime, decodeWords } = require(workerData.parser)
const flat = (list) =>
  (list ?? []).flatMap((one) => one.group ?? [one]).map(({ name, address }) => ({ name: name ?? '', address: address ?? '' }))
const take = async (bytes) => {
  const mail = await PostalMime.parse(bytes, workerData.limits)
  return {
    headers: mail.headers.map(({ originalKey, value }) => ({ name: originalKey, value: decodeWords(value) })),
    from: flat(mail.from && [mail.from])[0],
    to: flat(mail.to), cc: flat(mail.cc), replyTo: flat(mail.replyTo),
    subject: mail.subject, text: mail.text, html: mail.html,
    attachments: mail.attachments.map(({ filename, mimeType, method, content }) => ({
      filename, mimeType, method, content: new Uint8Array(content),
    })),
  }
}
parentPort.on('message', (bytes) => {
  take(bytes).then(
    (mail) => parentPort.postMessage({ mail }),
    (error) => parentPort.postMessage({ fault: String(error?.message) }),
  )
})
`

const countLines = (bytes: Buffer): number => {
  let lines = 0
  for (let at = bytes.indexOf(10); at >= 0 && lines <= maxLines; at = bytes.indexOf(10, at + 1)) lines++
  return lines
}

const unreadable = (): Failure => malformed('The message cannot be read as MIME.')

export interface MailParser {
  parse(bytes: Buffer): Promise<ParsedMail>
  close(): Promise<void>
}

export const makeMailParser = ({ deadlineMs = defaultDeadlineMs } = {}): MailParser => {
  const parser = createRequire(import.meta.url).resolve('postal-mime')
  let worker: Worker | undefined
  let turn: Promise<unknown> = Promise.resolve()

  const start = (): Worker => {
    const started = new Worker(program, {
      eval: true,
      workerData: { parser, limits },
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    })
    // A stopped service does not wait for it, and what it dies of is told to the message it had.
    started.unref()
    started.on('error', () => undefined)
    started.once('exit', () => {
      if (worker === started) worker = undefined
    })
    return started
  }

  const parseNow = async (bytes: Buffer): Promise<ParsedMail> => {
    worker ??= start()
    const running = worker
    return new Promise<ParsedMail>((resolve, reject) => {
      const settle = (end: () => void): void => {
        clearTimeout(deadline)
        running.off('message', answered)
        running.off('exit', ended)
        end()
      }
      const answered = (answer: { mail: ParsedMail } | { fault: string }): void =>
        settle(() => ('mail' in answer ? resolve(answer.mail) : reject(unreadable())))
      const ended = (): void => settle(() => reject(unreadable()))
      const deadline = setTimeout(() => {
        if (worker === running) worker = undefined
        void running.terminate()
      }, deadlineMs)
      running.on('message', answered)
      running.on('exit', ended)
      running.postMessage(bytes)
    })
  }

  return {
    parse: (bytes) => {
      if (countLines(bytes) > maxLines) {
        return Promise.reject(malformed(`Takes a message of at most ${maxLines} lines.`))
      }
      const mine = turn.then(() => parseNow(bytes))
      turn = mine.catch(() => undefined)
      return mine
    },
    close: async () => {
      await turn
      await worker?.terminate()
    },
  }
}
