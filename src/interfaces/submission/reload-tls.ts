/** Applies renewed certificates to SMTP servers while they run. Open connections keep theirs. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { SMTPServer } from 'smtp-server'
import type { Log } from '../../platform/ground/log.ts'

/** Programs that renew certificates replace their files, so a watch on the files themselves would miss that. */
const checkEveryMs = 5_000

export type TlsFiles = { certFile: string; keyFile: string }
export type TlsPair = { cert: Buffer; key: Buffer }

type Needs = { server: SMTPServer; files: TlsFiles; pair: TlsPair; log: Log }

const isSame = (a: TlsPair, b: TlsPair): boolean => a.cert.equals(b.cert) && a.key.equals(b.key)

/** The files are read one after the other, so between them they may not match. The next check reads them again. */
export const makeReloadTls = ({ server, files, pair, log }: Needs) => {
  let current = pair
  let reported = ''
  let timer: NodeJS.Timeout | undefined

  /** Reports each problem once, because it is found again at every check until someone fixes it. */
  const report = (error: Error): false => {
    if (error.message !== reported) {
      log.error({ err: error, ...files }, 'smtp certificate not reloaded, the previous one stays in use')
    }
    reported = error.message
    return false
  }

  /** Reads the files now. Resolves with whether the server uses another certificate from now on. */
  const check = async (): Promise<boolean> => {
    try {
      const next = { cert: await readFile(files.certFile), key: await readFile(files.keyFile) }
      if (isSame(next, current)) {
        reported = ''
        return false
      }
      createSecureContext(next)
      server.updateSecureContext(next)
      current = next
      reported = ''
      log.info({ valid_to: new X509Certificate(next.cert).validTo }, 'smtp certificate reloaded')
      return true
    } catch (error) {
      return report(error as Error)
    }
  }

  return {
    check,
    start: (): void => {
      timer ??= setInterval(() => void check(), checkEveryMs).unref()
    },
    stop: (): void => clearInterval(timer),
  }
}
