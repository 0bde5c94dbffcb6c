/** Opens a backup file: decrypts it, and verifies that this installation made it. */
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { type ByteReader, readBytes } from './backup-bytes.ts'
import { type DecryptWith, decryptBackup, isEncrypted } from './backup-encryption.ts'
import { openSeal } from './backup-seal.ts'

export type Opening = DecryptWith & {
  masterKeys: Buffer[]
  /** Restore the backup even if it is not authenticated. */
  allowUnauthenticated: boolean
}

/**
 * Yields the gzipped content. Calls `onUnauthenticated` with the reason when the backup is not authenticated and the
 * operator allows that.
 */
export async function* openBackup(
  file: AsyncIterable<Uint8Array>,
  opening: Opening,
  onUnauthenticated: (reason: string) => void,
): AsyncGenerator<Buffer> {
  let reader: ByteReader = readBytes(file)
  if (await isEncrypted(reader)) reader = readBytes(decryptBackup(reader, opening))
  yield* openSeal(reader, {
    masterKeys: opening.masterKeys,
    onUnauthenticated: (reason) => {
      if (!opening.allowUnauthenticated) {
        throw new OperatorFault(
          `The backup is not authenticated: ${reason}. Nothing was restored. To restore it anyway, add --allow-unauthenticated.`,
        )
      }
      onUnauthenticated(reason)
    },
  })
}
